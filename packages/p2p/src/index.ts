export type { BlockPoint, P2PConfig, P2PHandlers, P2PIdentity, P2PNetwork, Published, UnsafeGap } from "./network.ts";
export type { PeerApi, PeerDump, PeerInfo, PeerScores, PeerStats } from "./peers/peer-api.ts";

export type { BlockPoint, P2PConfig, P2PHandlers, P2PIdentity, P2PNetwork, Published, UnsafeGap } from "./network.ts";
export { canonicalIp, parseSubnet } from "./peers/ip-address.ts";
export { parsePeerAddress } from "./peers/peer-address.ts";
export type { PeerApi, PeerBan, PeerDump, PeerInfo, PeerScores, PeerStats } from "./peers/peer-api.ts";
export { canonicalPeerId } from "./peers/peer-id-text.ts";

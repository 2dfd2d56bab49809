export { canonicalIp, KeyFileError, parseSubnet, readOrCreateNetworkKey } from "@rnode/peering";
export { parseBootnode } from "./discovery/bootnodes.ts";
export { parseNetworks } from "./discovery/ip-networks.ts";
export { BlockSigners } from "./gossip/block-signers.ts";
export { parseStaticPeer } from "./host/static-peers.ts";
export {
  type BlockPoint,
  type ConnectionLimits,
  connectionLimits,
  type P2PConfig,
  type P2PHandlers,
  type P2PIdentity,
  type P2PNetwork,
  type Published,
  type UnsafeGap,
} from "./network.ts";
export { type OpenNetworkDeps, openNetwork } from "./open-network.ts";
export { parsePeerAddress } from "./peers/peer-address.ts";
export type { PeerApi, PeerBan, PeerDump, PeerInfo, PeerScores, PeerStats } from "./peers/peer-api.ts";
export { canonicalPeerId } from "./peers/peer-id-text.ts";
export { type P2PSetting, P2PSettingError } from "./settings-error.ts";
export { signBlock } from "./wire/sign-block.ts";

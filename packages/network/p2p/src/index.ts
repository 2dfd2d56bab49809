export { canonicalIp, KeyFileError, parseSubnet, readOrCreateNetworkKey } from "@rnode/peering";
export { parseBootnode } from "./discovery/bootnodes.ts";
export { parseNetworks } from "./discovery/ip-networks.ts";
export { BlockSigners } from "./gossip/block-signers.ts";
export { parseStaticPeer } from "./host/static-peers.ts";
export { connectionLimits, type P2PConfig, type P2PHandlers, type P2PNetwork, type Published } from "./network.ts";
export { type OpenNetworkDeps, openNetwork } from "./open-network.ts";
export { parsePeerAddress } from "./peers/peer-address.ts";
export {
  callPeerApi,
  forwardedPeerApi,
  type PeerApi,
  type PeerBan,
  type PeerDump,
  type PeerInfo,
  type PeerStats,
} from "./peers/peer-api.ts";
export { canonicalPeerId } from "./peers/peer-id-text.ts";
export { P2PSettingError } from "./settings-error.ts";
export { networkThreads } from "./thread/p2p-thread.ts";
export { signBlock } from "./wire/sign-block.ts";

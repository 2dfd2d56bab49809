export { defaultBootnodes, KeyFileError, readOrCreateNetworkKey } from "@rnode/peering";
export type { BlockPeer, BlockPeers, ChainStatus, HeaderRequest, PeerFault } from "./api.ts";
export { type Enode, enodeText, parseEnode } from "./enode.ts";
export { DevP2PError, type DevP2PErrorCode } from "./errors.ts";
export { ServedChain } from "./eth/served-chain.ts";
export type {
  Announcement,
  DevP2PConfig,
  DevP2PHandlers,
  DevP2PIdentity,
  DevP2PNetwork,
  NatSetting,
  PeerAdmin,
  PeerDescription,
  ReceivedTransaction,
} from "./network.ts";
export { type OpenNetworkDeps, openNetwork } from "./open-network.ts";
export { unjoinedIdentity } from "./unjoined-identity.ts";

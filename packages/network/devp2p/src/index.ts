export { defaultBootnodes, KeyFileError, readOrCreateNetworkKey } from "@rnode/peering";
export type { BlockPeer, BlockPeers, HeaderRequest, PeerFault } from "./api.ts";
export { parseEnode } from "./enode.ts";
export { ServedChain } from "./eth/served-chain.ts";
export type { Announcement, DevP2PConfig, DevP2PHandlers, DevP2PNetwork, NatSetting, ReceivedTransaction } from "./network.ts";
export { type OpenNetworkDeps, openNetwork } from "./open-network.ts";
export { unjoinedIdentity } from "./unjoined-identity.ts";

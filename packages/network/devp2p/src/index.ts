export { defaultBootnodes, KeyFileError, readOrCreateNetworkKey } from "@rnode/peering";
export type { BlockPeer, BlockPeers, HeaderRequest, PeerFault, StatePeer } from "./api.ts";
export { parseEnode } from "./enode.ts";
export { ServedChain } from "./eth/served-chain.ts";
export type { Announcement, DevP2PConfig, DevP2PHandlers, DevP2PNetwork, NatSetting, ReceivedTransaction } from "./network.ts";
export { type OpenNetworkDeps, openNetwork } from "./open-network.ts";
export type {
  AccountRange,
  AccountRangeRequest,
  ByteCodesRequest,
  RangeRow,
  StorageRanges,
  StorageRangesRequest,
  TrieNodesRequest,
} from "./snap/messages.ts";
export { nibblesOfPath, pathOfNibbles } from "./snap/node-path.ts";
export { ServedState } from "./snap/served-state.ts";
export { decodeSlimAccount, encodeSlimAccount } from "./snap/slim-account.ts";
export { unjoinedIdentity } from "./unjoined-identity.ts";

export type { BlockPeer, BlockPeers, ChainStatus, HeaderRequest, PeerFault } from "./api.ts";

export { parseEnode } from "../enode.ts";
export { type AnswerPooled, HostileEthPeer } from "./hostile-eth-peer.ts";
export { type Address, forkIdOfRecord, HostileV4Node, recordOfNewKey } from "./hostile-v4-node.ts";

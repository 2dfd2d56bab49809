export { startNetwork } from "../host/start-network.ts";
export { signBlock } from "../wire/sign-block.ts";
export * from "./go-peer.ts";
export { blockRequestProtocol, compressSnappyBlock, encodeBlockRequest, HostilePeer, newestBlockTopic } from "./hostile-peer.ts";
export { measuredBlock, receive, type SignedBlock, validationNs, wireMessage } from "./measured-messages.ts";
export { SimGossip, type SimMessage, simMessage } from "./sim-gossip.ts";
export { rollupOf, signatureOf, testBlock } from "./test-blocks.ts";
export { testP2PConfig } from "./test-network.ts";
export { SEQUENCER, SEQUENCER_KEY_HEX, TestNode } from "./test-node.ts";

import { workerData } from "node:worker_threads";
import { openChainStore } from "@rnode/storage";
import type { LiveRootReply, LiveRootRequest, LiveRootThreadData } from "./live-roots.ts";
import { LiveRootsBuilder } from "./live-roots-builder.ts";
import { SIGNAL_NODES, SIGNAL_READY, SIGNAL_REPLIES } from "./live-roots-signals.ts";

// The thread of `LiveRoots`: changes in, roots and trie nodes out.
const { folder, maxNodes, port, signals } = workerData as LiveRootThreadData;
const builder = new LiveRootsBuilder(openChainStore(folder, { readOnly: true }), maxNodes);

port.on("message", ({ id, question }: LiveRootRequest) => {
  let packed: Uint8Array<ArrayBuffer> | undefined;
  try {
    packed = builder.update(question);
  } catch {
    packed = undefined; // computed again where it was asked for, which tells what is wrong
  }
  const reply: LiveRootReply = { id, packed };
  port.postMessage(reply, packed === undefined ? [] : [packed.buffer]);
  Atomics.store(signals, SIGNAL_NODES, builder.nodeCount);
  Atomics.add(signals, SIGNAL_REPLIES, 1);
  Atomics.notify(signals, SIGNAL_REPLIES);
});
Atomics.store(signals, SIGNAL_READY, 1);

import { openChainStore } from "@rnode/storage";
import { serveWorker, startData } from "@rnode/threads/serve";
import type { LiveRootsAnswer, LiveRootsData } from "./live-roots.ts";
import { LiveRootsBuilder, type RootQuestion } from "./live-roots-builder.ts";

// The thread of `LiveRoots`: receives changes, and returns roots and trie nodes.
const { folder, maxNodes } = startData<LiveRootsData>();
const builder = new LiveRootsBuilder(openChainStore(folder, { readOnly: true }), maxNodes);

serveWorker<RootQuestion, LiveRootsAnswer>(
  (question) => {
    const answer = builder.update(question);
    return { answer, transfer: answer === undefined ? [] : [answer.buffer] };
  },
  () => builder.nodeCount,
);

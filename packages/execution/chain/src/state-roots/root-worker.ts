import { openChainStore } from "@rnode/storage";
import { type Served, serveWorker, startData } from "@rnode/threads/serve";
import { GroupRootsBuilder } from "./group-roots.ts";
import type { RootQuestion, RootThreadData, SealedRoots } from "./root-thread.ts";

// The thread of `StateRoots`: receives changes, and returns roots and rows of trie nodes.
const { folder, stateRoot } = startData<RootThreadData>();
const builder = new GroupRootsBuilder(openChainStore(folder, { readOnly: true }), stateRoot);

function seal(): Served<SealedRoots> {
  const { blocks, nodeRows } = builder.seal();
  const answer = { blocks: blocks.map((block) => ({ ...block, storageRoots: [...block.storageRoots] })), nodeRows };
  return { answer, transfer: [nodeRows.buffer as ArrayBuffer] };
}

serveWorker<RootQuestion, SealedRoots>((question) => {
  switch (question.kind) {
    case "add":
      for (const { number, packed, isRun } of question.blocks) builder.add(number, packed, isRun);
      return undefined;
    case "committed":
      builder.committed();
      return undefined;
    case "seal":
      return seal();
  }
});

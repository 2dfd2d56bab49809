import { parentPort, workerData } from "node:worker_threads";
import { openChainStore } from "@rnode/storage";
import { GroupRootsBuilder } from "./group-roots.ts";
import type { RootReply, RootRequest, RootThreadData } from "./root-thread.ts";

// The thread of `StateRoots`: changes in, roots and rows of trie nodes out.
const { folder, stateRoot } = workerData as RootThreadData;
const builder = new GroupRootsBuilder(openChainStore(folder, { readOnly: true }), stateRoot);
let failure: unknown;

function sealed(): RootReply {
  if (failure !== undefined) return { kind: "failed", error: failure };
  const { blocks, nodeRows } = builder.seal();
  return { kind: "sealed", blocks: blocks.map((block) => ({ ...block, storageRoots: [...block.storageRoots] })), nodeRows };
}

parentPort!.on("message", (request: RootRequest) => {
  if (request.kind === "seal") {
    let reply: RootReply;
    try {
      reply = sealed();
    } catch (error) {
      failure = error;
      reply = { kind: "failed", error };
    }
    const transfer = reply.kind === "sealed" ? [reply.nodeRows.buffer as ArrayBuffer] : [];
    parentPort!.postMessage(reply, transfer);
    return;
  }
  if (failure !== undefined) return;
  try {
    if (request.kind === "add") builder.add(request.number, request.packed);
    else builder.committed();
  } catch (error) {
    failure = error; // told with the next group
  }
});

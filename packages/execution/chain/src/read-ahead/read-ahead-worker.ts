import { openChainStore } from "@rnode/storage";
import { serveWorker, startData } from "@rnode/threads/serve";
import type { ReadAheadData } from "./read-ahead.ts";

// A thread of `ReadAhead`: reads keys, so that their pages are in memory.
const { folder } = startData<ReadAheadData>();
const store = openChainStore(folder, { readOnly: true });

serveWorker<Uint8Array, true>(
  (keys) => {
    store.refresh();
    store.touchState(keys);
    return { answer: true, transfer: [] };
  },
  () => 0,
);

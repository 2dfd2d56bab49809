// Prunes in small commits until it is killed or done (src/pruning/pruning.test.ts). Prints a line before the first commit and after each one.
// Arguments: folder, blocks to keep, rows a commit.

import { writeSync } from "node:fs";
import { openChainStore } from "@rnode/storage";

const [folder, keep, rows] = process.argv.slice(2);
const store = openChainStore(folder);
writeSync(1, "open\n");
for (;;) {
  const { remainingBlocks } = store.pruneHistory(Number(keep), Number(rows));
  writeSync(1, `${remainingBlocks}\n`);
  if (remainingBlocks === 0) break;
}
await store.close();
writeSync(1, "closed\n");

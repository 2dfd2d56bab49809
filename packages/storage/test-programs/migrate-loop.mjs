// Rewrites old rows in small commits until it is killed or done (src/migration.test.ts). Prints a line before the first commit and after each one.
// Arguments: folder, blocks a commit.

import { writeSync } from "node:fs";
import { openChainStore } from "@rnode/storage";

const [folder, blocks] = process.argv.slice(2);
const store = openChainStore(folder);
writeSync(1, "open\n");
for (;;) {
  const { remaining } = store.migrateRows(Number(blocks));
  writeSync(1, `${remaining}\n`);
  if (remaining === 0) break;
}
await store.close();
writeSync(1, "closed\n");

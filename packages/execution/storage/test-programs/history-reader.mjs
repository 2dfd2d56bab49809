// Reads a database that another process prunes (src/pruning/pruning.test.ts), until stdin ends. Every state that it reads must be right.
// Arguments: folder, JSON file of [[balance by address, one object a block], [number of receipts a block]].
// Prints `ready`, then a line of JSON: {reads, pruned, wrong: [what]}.

import { readFileSync, writeSync } from "node:fs";
import { hexToBytes, isCodedError } from "@rnode/primitives";
import { openChainStore } from "@rnode/storage";

const [folder, file] = process.argv.slice(2);
const [balances, receipts] = JSON.parse(readFileSync(file, "utf8"));
const store = openChainStore(folder, { readOnly: true });
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const found = { reads: 0, pruned: 0, wrong: [] };
let isEnded = false;
process.stdin.resume();
process.stdin.on("end", () => {
  isEnded = true;
});
writeSync(1, "ready\n");
for (let turn = 0; !isEnded; turn++) {
  const number = (turn * 7919) % balances.length;
  const view = store.stateAt(number);
  if (view === undefined) found.pruned++;
  else {
    const accounts = Object.entries(balances[number]);
    for (const [index, [address, balance]] of accounts.entries()) {
      if (index === 5) await nextTurn(); // the view stays in use while pruning continues
      try {
        const read = view.readAccount(hexToBytes(address))?.balance ?? 0n;
        found.reads++;
        if (String(read) !== balance) found.wrong.push(`balance of ${address} at ${number}: ${read}, not ${balance}`);
      } catch (error) {
        if (!isCodedError(error) || error.code !== "storage/state-gone") found.wrong.push(String(error));
        found.pruned++;
        break;
      }
    }
  }
  const count = store.readReceipts(store.readCanonicalHash(number))?.length;
  if (count !== undefined && count !== receipts[number]) found.wrong.push(`receipts of ${number}`);
  const { oldestReceipts } = store.retainedHistory();
  if ((count === undefined) !== (number > 0 && number < oldestReceipts)) found.wrong.push(`receipts of ${number}: ${count}`);
  await nextTurn();
}
await store.close();
writeSync(1, `${JSON.stringify(found)}\n`);

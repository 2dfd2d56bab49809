// Verifies a database, with a checkpoint at every report of progress, and kills itself at one of them (src/verify-state.test.ts).
// Arguments: folder, number of the report.

import { openChainStore } from "@rnode/storage";

const [folder, last] = process.argv.slice(2);
const store = openChainStore(folder, { readOnly: true });
let reports = 0;
store.verifyState({
  checkpoints: { intervalMs: 0, nowMs: () => 0 },
  onProgress: () => {
    if (++reports === Number(last)) process.kill(process.pid, "SIGKILL");
  },
});

// The thread of the network, which ends as soon as the file RNODE_FAULT is there. RNODE_WORKER: the compiled program.
import { unlinkSync } from "node:fs";

setInterval(() => {
  try {
    unlinkSync(process.env.RNODE_FAULT); // of several threads, one can
  } catch {
    return;
  }
  throw new Error("lost on purpose");
}, 10);
await import(process.env.RNODE_WORKER);

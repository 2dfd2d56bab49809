// The thread of the network, which ends as soon as the file RNODE_FAULT is there. RNODE_WORKER: the compiled program.
import { existsSync, rmSync } from "node:fs";

const file = process.env.RNODE_FAULT;
setInterval(() => {
  if (!existsSync(file)) return;
  rmSync(file);
  throw new Error("lost on purpose");
}, 10);
await import(process.env.RNODE_WORKER);

import { workerData } from "node:worker_threads";

/** How often to look whether the writer lives. */
const INTERVAL_MS = 250;

// A thread of a reader. When the writer is killed, the reader is told ("disconnect") and ends; one that is busy with a long request is not
// told before it has finished, and would keep the port so long.
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL");
}, INTERVAL_MS);

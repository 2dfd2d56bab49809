import { workerData } from "node:worker_threads";

/** How often to check whether the writer is alive. */
const INTERVAL_MS = 250;

// Runs in a thread of a reader. When the writer is killed, the reader gets a "disconnect" event and ends. A reader that is busy with a
// long request would not notice before it has finished, and would occupy the port until then.
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, "SIGKILL");
}, INTERVAL_MS);

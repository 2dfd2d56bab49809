// A worker that misbehaves once: with the question after the file RNODE_FAULT was written, in the way that it says. RNODE_WORKER: the
// compiled program.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { workerData } from "node:worker_threads";

const FAULTS = {
  exit: () => process.exit(1),
  throw: () => {
    throw new Error("thrown on purpose");
  },
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
};

const file = process.env.RNODE_FAULT;
const { port } = workerData;
const on = port.on.bind(port);
port.on = (event, handle) =>
  on(event, (request) => {
    if (request.id !== 0 && existsSync(file)) {
      const fault = readFileSync(file, "utf8");
      rmSync(file);
      FAULTS[fault]();
    }
    handle(request);
  });
await import(process.env.RNODE_WORKER);

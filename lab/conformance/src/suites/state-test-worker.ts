// Worker thread of `runStateTests`.
import { parentPort, workerData } from "node:worker_threads";
import { newEngine } from "@rnode/chain";
import { runStateTestFile, type StateTestFileDone, type StateTestWork } from "./state-test.ts";

const { files, fork } = workerData as StateTestWork;
const engine = newEngine();
for (const file of files) {
  const done: StateTestFileDone = runStateTestFile(engine, file, fork);
  parentPort?.postMessage(done);
}

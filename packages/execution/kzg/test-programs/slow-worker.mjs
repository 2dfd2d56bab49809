// A thread that takes a moment for each question and answers with its number, without loading the library. It ends where the blob begins with 1.
import { setTimeout as sleep } from "node:timers/promises";
import { threadId, workerData } from "node:worker_threads";

const { port } = workerData;
port.on("message", async ({ id, question }) => {
  if (question.blob[0] === 1) process.exit(1);
  await sleep(20);
  port.postMessage({ id, kind: "answer", answer: { told: Uint8Array.of(threadId) } });
});

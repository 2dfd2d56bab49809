import { Worker } from "node:worker_threads";
import { errorText } from "@rnode/observe";
import { VERSION } from "../version.ts";
import { type MessageToReader, type MessageToWriter, Outbox } from "./messages.ts";
import { type Reader, startReader } from "./reader.ts";

/** A graceful end that takes longer is cut off. */
const CLOSE_LIMIT_MS = 3000;

// A terminal's Ctrl-C and a supervisor's SIGTERM reach the whole group: the writer says when it is time.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => {});

const outbox = new Outbox<MessageToWriter>((batch) => {
  if (process.connected) process.send?.(batch, undefined, undefined, () => {}); // an error: the writer is gone, "disconnect" follows
});
/** Messages that come while the reader starts. */
const early: MessageToReader[] = [];
let reader: Reader | undefined;

async function end(): Promise<never> {
  setTimeout(() => process.exit(1), CLOSE_LIMIT_MS);
  await reader?.close();
  process.exit(0);
}

async function begin(message: Extract<MessageToReader, { kind: "start" }>): Promise<void> {
  new Worker(new URL("./watchdog.js", import.meta.url), {
    workerData: message.start.pid,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2, codeRangeSizeMb: 4, stackSizeMb: 1 },
  }).unref();
  try {
    const { version } = message.start;
    if (version !== VERSION) throw new Error(`rengine ${version} runs, but ${VERSION} is installed: start it again`);
    reader = await startReader(message.start, outbox);
  } catch (error) {
    outbox.push({ kind: "failed", reason: errorText(error) });
    outbox.flush();
    setTimeout(() => process.exit(1), 100); // the message is on its way
    return;
  }
  for (const waiting of early.splice(0)) reader.receive(waiting);
  outbox.push({ kind: "ready" });
}

process.on("message", (batch: readonly MessageToReader[]) => {
  for (const message of batch) {
    if (message.kind === "start") void begin(message);
    else if (message.kind === "close") void end();
    else if (reader === undefined) early.push(message);
    else reader.receive(message);
  }
});
process.on("disconnect", () => process.exit(0));

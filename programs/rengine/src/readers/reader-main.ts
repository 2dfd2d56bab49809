import { type ConnectOpts, Socket, type SocketConstructorOpts } from "node:net";
import { Worker } from "node:worker_threads";
import { errorText } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { leaveStopToParent } from "@rnode/program";
import { describeError } from "../setup/describe-error.ts";
import { VERSION } from "../version.ts";
import { encodeFrames, FrameReader } from "./frames.ts";
import { type MessageToReader, type MessageToWriter, Outbox, WRITER_FD } from "./messages.ts";
import { type Reader, startReader } from "./reader.ts";

/** A graceful shutdown that takes longer is cut off. */
const CLOSE_LIMIT_MS = 3000;
const READ_BYTES = 256 * 1024;

leaveStopToParent();

/** Messages that arrive while the reader starts. */
const early: MessageToReader[] = [];
let reader: Reader | undefined;

async function end(): Promise<never> {
  setTimeout(() => process.exit(1), CLOSE_LIMIT_MS);
  await reader?.close();
  process.exit(0);
}

async function retire(): Promise<void> {
  if (reader === undefined || !(await reader.closeIfUnused())) outbox.push({ kind: "stays" });
  else process.exit(0);
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
    outbox.push({
      kind: "failed",
      reason: describeError(error) ?? errorText(error),
      isFatal: isCodedError(error, "storage/corrupted"),
    });
    outbox.flush();
    setTimeout(() => process.exit(1), 100); // leaves time for the message to be sent
    return;
  }
  for (const waiting of early.splice(0)) reader.receive(waiting);
  outbox.push({ kind: "ready" });
}

const frames = new FrameReader<MessageToReader>((message) => {
  if (message.kind === "start") void begin(message);
  else if (message.kind === "close") void end();
  else if (message.kind === "retire") void retire();
  else if (reader === undefined) early.push(message);
  else reader.receive(message);
});
// PERF: all reads use one buffer; a stream would allocate 64 KiB for every read.
const received = Buffer.allocUnsafe(READ_BYTES);
const writer = new Socket({
  fd: WRITER_FD,
  readable: true,
  writable: true,
  onread: {
    buffer: received,
    callback: (size) => {
      frames.read(received.subarray(0, size));
      return true;
    },
  },
} satisfies SocketConstructorOpts & Pick<ConnectOpts, "onread"> as SocketConstructorOpts);
const outbox = new Outbox<MessageToWriter>((batch) => {
  if (writer.writable) writer.write(encodeFrames(batch));
});
writer.on("error", () => {}); // the writer is gone; "close" follows
writer.on("close", () => process.exit(0));
writer.resume();

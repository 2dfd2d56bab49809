import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { errorText } from "@rnode/observe";
import { UserError } from "@rnode/program";
import { VERSION } from "../version.ts";
import { encodeFrames, FrameReader } from "./frames.ts";
import { type MessageToReader, type MessageToWriter, Outbox, type ReaderStart, WRITER_FD } from "./messages.ts";

/** What every reader process is given. */
export interface ReaderProcessOptions {
  readonly maxHeapMib: number;
  /** listening sockets */
  readonly httpFd: number | undefined;
  readonly wsFd: number | undefined;
}

/** What a reader that runs says. */
export type ReaderMessage = Exclude<MessageToWriter, { kind: "failed" }>;

export interface ReaderEvents {
  readonly onMessage: (message: ReaderMessage) => void;
  /** Called once, and nothing after it. @param isFatal no other process can take its place: the database is damaged */
  readonly onEnd: (reason: string, isFatal: boolean) => void;
}

/** stdio of a reader: nothing, output, errors, messages, then its listening sockets */
const FIRST_SOCKET_FD = WRITER_FD + 1;
/** A graceful end that takes longer is cut off. */
const CLOSE_LIMIT_MS = 3000;

/** One reader process, from its start to its end. */
export class ReaderProcess {
  readonly outbox: Outbox<MessageToReader>;
  readonly startedAtMs = performance.now();
  readonly #child: ChildProcess;
  #hasEnded = false;

  /** @throws {UserError} the program is not built */
  constructor(
    start: Omit<ReaderStart, "httpFd" | "wsFd" | "pid" | "version">,
    { maxHeapMib, httpFd, wsFd }: ReaderProcessOptions,
    { onMessage, onEnd }: ReaderEvents,
  ) {
    const fds = [...new Set([httpFd, wsFd].filter((fd) => fd !== undefined))];
    const child = spawn(process.execPath, [`--max-old-space-size=${maxHeapMib}`, readerProgram()], {
      stdio: ["ignore", "inherit", "inherit", "pipe", ...fds],
      env: process.env,
    });
    this.#child = child;
    // undefined: it could not be started
    const socket = (child.stdio as ChildProcess["stdio"] | undefined)?.[WRITER_FD] as Socket | null | undefined;
    socket?.on("error", () => {}); // its end follows
    this.outbox = new Outbox<MessageToReader>((batch) => {
      if (socket?.writable === true) socket.write(encodeFrames(batch));
    });
    const inChild = (fd: number | undefined): number | undefined =>
      fd === undefined ? undefined : FIRST_SOCKET_FD + fds.indexOf(fd);
    this.outbox.push({
      kind: "start",
      start: { ...start, httpFd: inChild(httpFd), wsFd: inChild(wsFd), pid: process.pid, version: VERSION },
    });
    let failure: string | undefined;
    let isFatal = false;
    const frames = new FrameReader<MessageToWriter>((message) => {
      if (message.kind === "failed") ({ reason: failure, isFatal } = message);
      else if (!this.#hasEnded) onMessage(message);
    });
    socket?.on("data", (bytes: Buffer) => {
      try {
        frames.read(bytes);
      } catch (error) {
        failure = errorText(error); // of another version, or of nobody knows what: not a reason to end here
        this.kill();
      }
    });
    const end = (reason: string): void => {
      if (this.#hasEnded) return;
      this.#hasEnded = true;
      onEnd(reason, isFatal);
    };
    child.once("error", (error) => {
      failure = error.message;
      if (child.pid === undefined) end(failure);
    });
    child.once("exit", (code, signal) => end(failure ?? `ended with ${signal ?? code}`));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Has it finish what it does, for a while. */
  async close(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = new Promise<void>((resolve) => {
      this.#child.once("exit", () => resolve());
    });
    const cutOff = setTimeout(() => this.kill(), CLOSE_LIMIT_MS);
    this.outbox.push({ kind: "close" });
    await ended;
    clearTimeout(cutOff);
  }
}

/** Compiled; run from sources (tests), the client still needs it built. @throws {UserError} */
function readerProgram(): string {
  for (const place of ["./reader-main.js", "../../dist/readers/reader-main.js"]) {
    const path = fileURLToPath(new URL(place, import.meta.url));
    if (existsSync(path)) return path;
  }
  throw new UserError("the reader program is missing: build the package (npm run build)");
}

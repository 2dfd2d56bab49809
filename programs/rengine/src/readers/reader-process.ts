import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { errorText } from "@rnode/observe";
import { UserError } from "@rnode/program";
import { VERSION } from "../version.ts";
import { encodeFrames, FrameReader } from "./frames.ts";
import { type MessageToReader, type MessageToWriter, Outbox, type ReaderStart, WRITER_FD } from "./messages.ts";

/** What every reader process needs. */
export interface ReaderProcessOptions {
  readonly maxHeapMib: number;
  /** listening sockets */
  readonly httpFd: number | undefined;
  readonly wsFd: number | undefined;
}

/** The messages of a reader that has started. */
export type ReaderMessage = Exclude<MessageToWriter, { kind: "failed" }>;

export interface ReaderEvents {
  readonly onMessage: (message: ReaderMessage) => void;
  /** Called once, as the last call. @param isFatal no other process can take its place, because the database is damaged */
  readonly onEnd: (reason: string, isFatal: boolean) => void;
}

/** stdio of a reader: no input, output, errors, the socket for messages, then its listening sockets */
const FIRST_SOCKET_FD = WRITER_FD + 1;
/** A graceful shutdown that takes longer is cut off. */
const CLOSE_LIMIT_MS = 3000;

/**
 * For glibc, unless the environment says otherwise: large buffers are given back to the system when they are freed. By default it raises its
 * threshold for that with the first large one that is freed, up to 32 MiB, and keeps an area for each thread, so that a reader held up to
 * 300 MiB of freed answers and requests for good. https://man7.org/linux/man-pages/man3/mallopt.3.html
 */
const RETURN_FREED_MEMORY = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
} as const;

/** One reader process, from start to end. */
export class ReaderProcess {
  readonly outbox: Outbox<MessageToReader>;
  readonly startedAtMs = performance.now();
  readonly #child: ChildProcess;
  #hasEnded = false;

  /** @throws {UserError} the program has not been built */
  constructor(
    start: Omit<ReaderStart, "httpFd" | "wsFd" | "pid" | "version">,
    { maxHeapMib, httpFd, wsFd }: ReaderProcessOptions,
    { onMessage, onEnd }: ReaderEvents,
  ) {
    const fds = [...new Set([httpFd, wsFd].filter((fd) => fd !== undefined))];
    const child = spawn(process.execPath, [`--max-old-space-size=${maxHeapMib}`, "--expose-gc", readerProgram()], {
      stdio: ["ignore", "inherit", "inherit", "pipe", ...fds],
      env: { ...RETURN_FREED_MEMORY, ...process.env },
    });
    this.#child = child;
    // undefined: the process could not be started
    const socket = (child.stdio as ChildProcess["stdio"] | undefined)?.[WRITER_FD] as Socket | null | undefined;
    socket?.on("error", () => {}); // the end of the process follows
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
        failure = errorText(error); // from another version, or from an unknown sender: no reason for this process to fail
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

  /** Lets it finish its work, within a time limit. */
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

/** The compiled reader. It must have been built even if the client itself runs from its sources, as in tests. @throws {UserError} */
function readerProgram(): string {
  const places = [new URL("./reader-main.js", import.meta.url), new URL("../../lib/reader-main.js", import.meta.url)];
  for (const place of places) {
    const path = fileURLToPath(place);
    if (existsSync(path)) return path;
  }
  throw new UserError("the reader program is missing: build the package (npm run build)");
}

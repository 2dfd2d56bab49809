import { Worker } from "node:worker_threads";
import { buffersOfRequest } from "@rnode/jsonrpc";
import { errorText } from "@rnode/observe";
import type { CostlyStart, MessageFromCostly, MessageToCostly } from "./costly-messages.ts";

export interface CostlyThreadEvents {
  /** Called once it has loaded its code and opened the database. Messages posted before wait for that. */
  readonly onReady: () => void;
  readonly onMessage: (message: Exclude<MessageFromCostly, { kind: "ready" | "failed" }>) => void;
  /** Called once, as the last call, unless `end` was called before. */
  readonly onEnd: (reason: string) => void;
}

/** A thread that works on costly requests, for as long as it runs. */
export interface CostlyThread {
  /** A large request is transferred: its text is empty afterwards. */
  post(message: MessageToCostly): void;
  /**
   * Lets the thread end after its current work. After `limitMs` it is terminated, which must be rare: if a native module is in a
   * call then, Node.js aborts the whole process (https://github.com/nodejs/node-addon-api/pull/975).
   */
  end(limitMs: number): Promise<void>;
}

/** Starts the thread. It must have been built, as readers are. */
export function startCostlyThread(start: CostlyStart, { onReady, onMessage, onEnd }: CostlyThreadEvents): CostlyThread {
  const worker = new Worker(new URL("./costly-main.js", import.meta.url), {
    workerData: start,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: start.options.readers.maxHeapMib },
  });
  let hasEnded = false;
  let reason = "it ended";
  const end = (): void => {
    if (hasEnded) return;
    hasEnded = true;
    onEnd(reason);
  };
  worker.on("message", (message: MessageFromCostly) => {
    if (hasEnded) return;
    if (message.kind === "ready") {
      onReady();
      return;
    }
    if (message.kind !== "failed") {
      onMessage(message);
      return;
    }
    ({ reason } = message);
    void worker.terminate();
  });
  worker.on("error", (error) => {
    reason = errorText(error);
  });
  const exited = new Promise<void>((resolve) => {
    worker.on("exit", () => {
      end();
      resolve();
    });
  });
  return {
    post: (message) =>
      worker.postMessage(message, message.kind === "run" || message.kind === "read" ? [...buffersOfRequest(message.text)] : []),
    async end(limitMs) {
      hasEnded = true;
      worker.postMessage({ kind: "close" } satisfies MessageToCostly);
      const cutOff = setTimeout(() => void worker.terminate(), limitMs);
      await exited;
      clearTimeout(cutOff);
    },
  };
}

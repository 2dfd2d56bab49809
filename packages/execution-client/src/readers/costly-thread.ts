import { Worker } from "node:worker_threads";
import { errorText } from "@rnode/observe";
import type { CostlyStart, MessageFromCostly, MessageToCostly } from "./costly-messages.ts";

export interface CostlyThreadEvents {
  readonly onMessage: (message: Exclude<MessageFromCostly, { kind: "ready" | "failed" }>) => void;
  /** Called once, as the last call, unless `end` was called before. */
  readonly onEnd: (reason: string) => void;
}

/** A thread that works on costly requests, for as long as it runs. */
export interface CostlyThread {
  post(message: MessageToCostly): void;
  /** Ends it, whatever it does. */
  end(): Promise<void>;
}

/** Starts the thread. It must have been built, as readers are. */
export function startCostlyThread(start: CostlyStart, { onMessage, onEnd }: CostlyThreadEvents): CostlyThread {
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
    if (hasEnded || message.kind === "ready") return;
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
  worker.on("exit", end);
  return {
    post: (message) => worker.postMessage(message),
    async end() {
      hasEnded = true;
      await worker.terminate();
    },
  };
}

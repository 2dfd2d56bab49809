import { type ResourceLimits, type Transferable, Worker } from "node:worker_threads";
import type { NetworkStart } from "./network-messages.ts";

export interface ThreadHostOptions {
  /** one that calls `serveNetworks` */
  readonly program: URL;
  /** options for Node; `undefined`: those of this process */
  readonly execArgv?: readonly string[] | undefined;
  /** What ends for want of memory is the thread, not the process. */
  readonly memory: ResourceLimits;
}

/** A thread, and the networks in it. */
class HostedThread {
  readonly #worker: Worker;
  /** of each network */
  readonly #onLost = new Set<(error: Error) => void>();

  constructor({ program, execArgv, memory }: ThreadHostOptions) {
    this.#worker = new Worker(program, {
      resourceLimits: memory,
      ...(execArgv !== undefined && { execArgv: [...execArgv] }),
    });
    this.#worker.on("error", (error) => this.#lose(error));
    this.#worker.on("exit", (code) => this.#lose(new Error(`the thread ended with code ${code}`)));
  }

  get isUsed(): boolean {
    return this.#onLost.size > 0;
  }

  /** @returns ends the thread if no other network is in it */
  open(start: NetworkStart<object>, transfer: readonly Transferable[], onLost: (error: Error) => void): () => Promise<void> {
    this.#onLost.add(onLost);
    this.#worker.postMessage(start, transfer);
    return async () => {
      if (this.#onLost.delete(onLost) && !this.isUsed) await this.#worker.terminate();
    };
  }

  #lose(error: Error): void {
    for (const onLost of [...this.#onLost]) onLost(error);
  }
}

/**
 * Starts the threads that networks run in. All networks share the first one, as each thread takes 30 MiB. Once it is lost, each network gets a thread
 * of its own: peers of one network that can end its thread end no other network a second time.
 */
export class ThreadHost {
  readonly #options: ThreadHostOptions;
  #shared: HostedThread | undefined;
  #isSplit = false;

  constructor(options: ThreadHostOptions) {
    this.#options = options;
  }

  take(): HostedThread {
    if (!this.#isSplit && this.#shared?.isUsed) return this.#shared;
    this.#shared = new HostedThread(this.#options);
    return this.#shared;
  }

  /** A thread was lost. */
  split(): void {
    this.#isSplit = true;
  }
}

import { Worker } from "node:worker_threads";
import { isZeroBytes } from "@rnode/primitives";

export const SENDER_BYTES = 20;

export interface RecoverRequest {
  readonly id: number;
  /** encoded transactions, and where each ends */
  readonly packed: Uint8Array;
  readonly ends: Uint32Array;
}

export interface RecoverReply {
  readonly id: number;
  /** 20 bytes each; zeros where the signature gives no sender */
  readonly senders: Uint8Array;
  /** 32 bytes each */
  readonly hashes: Uint8Array;
}

interface RunningWorker {
  readonly worker: Worker;
  readonly pending: Map<number, (reply: RecoverReply | undefined) => void>;
}

/** Threads that recover signers. They start with the first request, and do not keep the process alive. */
export class SenderWorkers {
  readonly #count: number;
  #workers: RunningWorker[] | undefined;
  #nextId = 0;
  /** a thread that broke: all is recovered on the caller's thread from then on */
  #isBroken = false;

  constructor(count: number) {
    this.#count = count;
  }

  /** @returns the senders of encoded transactions, each undefined where there is none, and the hashes; undefined when the threads cannot help */
  async prepare(
    encoded: readonly Uint8Array[],
  ): Promise<{ senders: (Uint8Array | undefined)[]; hashes: Uint8Array[] } | undefined> {
    const workers = this.#start();
    if (workers.length === 0) return undefined;
    const share = Math.ceil(encoded.length / workers.length);
    const parts = await Promise.all(
      workers.map((running, index) => {
        const items = encoded.slice(index * share, (index + 1) * share);
        const ends = new Uint32Array(items.length);
        let size = 0;
        for (const [item, { length }] of items.entries()) ends[item] = size += length;
        const packed = new Uint8Array(size);
        for (const [item, bytes] of items.entries()) packed.set(bytes, ends[item]! - bytes.length);
        return this.#request(running, packed, ends);
      }),
    );
    const senders: (Uint8Array | undefined)[] = [];
    const hashes: Uint8Array[] = [];
    for (const part of parts) {
      if (part === undefined) return undefined;
      senders.push(...sendersOf(part));
      for (let at = 0; at < part.hashes.length; at += 32) hashes.push(part.hashes.subarray(at, at + 32));
    }
    return { senders, hashes };
  }

  async close(): Promise<void> {
    const workers = this.#workers ?? [];
    this.#workers = [];
    await Promise.all(
      workers.map(async ({ worker, pending }) => {
        for (const settle of pending.values()) settle(undefined);
        pending.clear();
        await worker.terminate();
      }),
    );
  }

  #request({ worker, pending }: RunningWorker, packed: Uint8Array, ends: Uint32Array): Promise<RecoverReply | undefined> {
    if (packed.length === 0) return Promise.resolve({ id: 0, senders: new Uint8Array(0), hashes: new Uint8Array(0) });
    if (this.#isBroken) return Promise.resolve(undefined);
    const request: RecoverRequest = { id: this.#nextId++, packed, ends };
    return new Promise((resolve) => {
      pending.set(request.id, resolve);
      worker.ref(); // somebody waits: the process must not end meanwhile
      worker.postMessage(request, [packed.buffer as ArrayBuffer]);
    });
  }

  #start(): readonly RunningWorker[] {
    if (this.#workers !== undefined) return this.#workers;
    // Run from sources (tests), there is no file that a thread could load.
    const isCompiled = import.meta.url.endsWith(".js");
    this.#workers = isCompiled ? Array.from({ length: this.#count }, () => this.#startOne()) : [];
    return this.#workers;
  }

  #startOne(): RunningWorker {
    const worker = new Worker(new URL("./sender-worker.js", import.meta.url));
    worker.unref();
    const pending: RunningWorker["pending"] = new Map();
    worker.on("message", (reply: RecoverReply) => {
      pending.get(reply.id)?.(reply);
      pending.delete(reply.id);
      if (pending.size === 0) worker.unref();
    });
    worker.once("error", () => {
      this.#isBroken = true;
      for (const settle of pending.values()) settle(undefined);
      pending.clear();
    });
    return { worker, pending };
  }
}

function* sendersOf({ senders }: RecoverReply): Generator<Uint8Array | undefined> {
  for (let at = 0; at < senders.length; at += SENDER_BYTES) {
    const sender = senders.subarray(at, at + SENDER_BYTES);
    yield isZeroBytes(sender) ? undefined : sender;
  }
}

import { isZeroBytes } from "@rnode/primitives";
import { isCompiled, type ThreadOverrides, WorkerHost } from "@rnode/threads";

export const SENDER_BYTES = 20;

export interface RecoverRequest {
  /** encoded transactions, and the offset at which each ends */
  readonly packed: Uint8Array;
  readonly ends: Uint32Array;
}

export interface RecoverReply {
  /** 20 bytes each; zeros if the signature yields no sender */
  readonly senders: Uint8Array;
  /** 32 bytes each */
  readonly hashes: Uint8Array;
}

/** of transactions, in their order */
export interface PreparedTransactions {
  /** 20 bytes each; `undefined`: the signature yields no sender */
  readonly senders: readonly (Uint8Array | undefined)[];
  /** 32 bytes each */
  readonly hashes: readonly Uint8Array[];
}

type SenderHost = WorkerHost<RecoverRequest, RecoverReply>;

/** Threads that recover signers. They start with the first request. */
export class SenderWorkers {
  readonly #hosts: readonly SenderHost[];

  constructor(count: number, overrides: ThreadOverrides = {}) {
    const options = { program: new URL("./sender-worker.js", import.meta.url), data: undefined, ...overrides };
    const isThere = overrides.program !== undefined || isCompiled(import.meta.url);
    this.#hosts = isThere ? Array.from({ length: count }, () => new WorkerHost(options)) : [];
  }

  /** @returns undefined: the threads are not available */
  async prepare(encoded: readonly Uint8Array[]): Promise<PreparedTransactions | undefined> {
    if (this.#hosts.length === 0) return undefined;
    const share = Math.ceil(encoded.length / this.#hosts.length);
    const parts = await Promise.all(
      this.#hosts.map((host, index) => {
        const items = encoded.slice(index * share, (index + 1) * share);
        const ends = new Uint32Array(items.length);
        let size = 0;
        for (const [item, { length }] of items.entries()) ends[item] = size += length;
        const packed = new Uint8Array(size);
        for (const [item, bytes] of items.entries()) packed.set(bytes, ends[item]! - bytes.length);
        return recover(host, packed, ends);
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
    await Promise.all(this.#hosts.map((host) => host.close()));
  }
}

function recover(host: SenderHost, packed: Uint8Array<ArrayBuffer>, ends: Uint32Array): Promise<RecoverReply | undefined> {
  if (packed.length === 0) return Promise.resolve({ senders: new Uint8Array(0), hashes: new Uint8Array(0) });
  return host.ask({ packed, ends }, [packed.buffer]);
}

function* sendersOf({ senders }: RecoverReply): Generator<Uint8Array | undefined> {
  for (let at = 0; at < senders.length; at += SENDER_BYTES) {
    const sender = senders.subarray(at, at + SENDER_BYTES);
    yield isZeroBytes(sender) ? undefined : sender;
  }
}

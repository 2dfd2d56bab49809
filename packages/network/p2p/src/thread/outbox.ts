import type { ReceivedBlock } from "./encoded-block.ts";
import { type FromThread, MAX_PAYLOAD_BYTES, MAX_PAYLOADS, PAYLOAD_BYTES, PAYLOADS } from "./messages.ts";

/**
 * The thread's own messages, bounded: the process subtracts the processed part in `shared`, so nothing piles up for a busy
 * process.
 */
export class Outbox {
  readonly #shared: Int32Array<SharedArrayBuffer>;
  readonly #send: (message: FromThread, transfer?: readonly ArrayBuffer[]) => void;

  constructor(shared: Int32Array<SharedArrayBuffer>, send: (message: FromThread, transfer?: readonly ArrayBuffer[]) => void) {
    this.#shared = shared;
    this.#send = send;
  }

  /** @returns false: dropped, because too many wait already */
  payload(block: ReceivedBlock, from: string): boolean {
    const size = block.bytes.length;
    const isFull =
      Atomics.load(this.#shared, PAYLOAD_BYTES) + size > MAX_PAYLOAD_BYTES || Atomics.load(this.#shared, PAYLOADS) >= MAX_PAYLOADS;
    if (isFull) return false;
    Atomics.add(this.#shared, PAYLOAD_BYTES, size);
    Atomics.add(this.#shared, PAYLOADS, 1);
    this.#send({ kind: "payload", block, from }, [block.bytes.buffer]);
    return true;
  }
}

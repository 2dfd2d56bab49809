import type { StreamEntry } from "../stream/stream-entry.ts";

export interface AppliedBlock {
  readonly number: number;
  readonly hash: string;
  readonly body: Uint8Array;
}

/** What a consumer has that applies the messages of a stream in order. */
export class AppliedStream {
  readonly blocks: AppliedBlock[] = [];
  #parts: Uint8Array[] = [];
  #partOf: string | undefined;

  /** number of the last block, or -1 */
  get top(): number {
    return this.blocks.at(-1)?.number ?? -1;
  }

  /** @throws if the message does not fit */
  apply({ kind, number, hash, parentHash, isFirst, part, parts }: StreamEntry, body: Uint8Array): void {
    const what = `${kind} ${number} ${hash} part ${part} of ${parts} after block ${this.top}`;
    if (kind === "retract") {
      if (this.#partOf !== undefined ? this.#partOf !== hash : this.blocks.pop()?.hash !== hash)
        throw new Error(`not the last block: ${what}`);
      this.#partOf = undefined;
      this.#parts = [];
      return;
    }
    if (part !== this.#parts.length + 1 || (part > 1 && this.#partOf !== hash)) throw new Error(`not the next part: ${what}`);
    const last = this.blocks.at(-1);
    if (isFirst ? last !== undefined : last?.hash !== parentHash) throw new Error(`not a child of the last block: ${what}`);
    this.#parts.push(body);
    this.#partOf = hash;
    if (part < parts) return;
    this.blocks.push({ number, hash, body: Buffer.concat(this.#parts) });
    this.#partOf = undefined;
    this.#parts = [];
  }
}

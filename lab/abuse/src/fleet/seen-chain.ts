/** What a client has been shown of a chain that has no reorganisation. */
export class SeenChain {
  /** number of the newest block */
  newest = 0;
  readonly #hashes = new Map<number, string>();
  /** block hash of each receipt, by transaction hash */
  readonly #receipts = new Map<string, string>();

  get receipts(): readonly string[] {
    return [...this.#receipts.keys()];
  }

  /** @returns what contradicts earlier answers; `undefined`: nothing. @param what was asked */
  number(what: string, number: number): string | undefined {
    if (number < this.newest) return `${what}: the head went back from ${this.newest} to ${number}`;
    this.newest = number;
    return undefined;
  }

  /** @param asked number of the block that was asked for; `undefined`: the newest */
  block(what: string, given: BlockJson | null, asked?: number): string | undefined {
    if (given === null) return `${what}: block ${asked ?? "latest"} disappeared, and ${this.newest} was seen`;
    const number = Number(given.number);
    if (asked === undefined) {
      const fault = this.number(what, number);
      if (fault !== undefined) return fault;
    } else if (number !== asked) return `${what}: block ${number} for ${asked}`;
    const known = this.#hashes.get(number);
    if (known !== undefined && known !== given.hash) return `${what}: block ${number} was ${known} and is ${given.hash}`;
    const parent = this.#hashes.get(number - 1);
    if (parent !== undefined && parent !== given.parentHash) return `${what}: the parent of block ${number} was ${parent}`;
    this.#hashes.set(number, given.hash);
    this.newest = Math.max(this.newest, number);
    return undefined;
  }

  /** @param given null: there is none yet, which is a fault if there was one */
  receipt(what: string, transaction: string, given: ReceiptJson | null): string | undefined {
    const known = this.#receipts.get(transaction);
    if (given === null) return known === undefined ? undefined : `${what}: the receipt of ${transaction} disappeared`;
    if (known !== undefined && known !== given.blockHash)
      return `${what}: ${transaction} moved from block ${known} to ${given.blockHash}`;
    this.#receipts.set(transaction, given.blockHash);
    return this.newest < Number(given.blockNumber) ? this.number(what, Number(given.blockNumber)) : undefined;
  }
}

export interface BlockJson {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
}

export interface ReceiptJson {
  readonly blockHash: string;
  readonly blockNumber: string;
}

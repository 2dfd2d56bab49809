import { type BlobId, blobIdsSentTo, type L1BlockHeader, type L1Provider } from "@rnode/derivation";
import { type Hex, isCodedError } from "@rnode/primitives";
import type { L1BlockRef, Receipt, Transaction } from "@rnode/protocol";

export interface ReadAheadOptions {
  /** blocks asked for before derivation wants them */
  readonly depth: number;
  /** blocks closer to the head than this are not read ahead, as they may still be replaced */
  readonly headDistance: number;
}

/** A source of blobs that can have them on their way before they are asked for. */
export interface BlobReadAhead {
  readAhead(block: L1BlockRef, ids: readonly BlobId[]): void;
}

export interface ReadAheadDeps {
  readonly l1: L1Provider;
  /** blobs of transactions to the address are fetched ahead, too */
  readonly blobs?: { readonly source: BlobReadAhead; readonly inbox: Uint8Array } | undefined;
  readonly l1Head: () => L1BlockRef | undefined;
}

/**
 * L1 for a reader that goes from block to block and wants header, receipts, transactions and blobs of each: while it works on one block,
 * the next ones are being fetched. Each block that was read ahead is handed out only once, for the next question about its number,
 * so that a reader that starts over sees L1 as it is then.
 */
export class ReadAhead implements L1Provider {
  private readonly options: ReadAheadOptions;
  private readonly deps: ReadAheadDeps;
  private readonly ahead = new Map<number, Promise<L1BlockHeader | undefined>>();
  private expected = -1;

  constructor(options: ReadAheadOptions, deps: ReadAheadDeps) {
    this.options = options;
    this.deps = deps;
  }

  async blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    if (number !== this.expected) this.ahead.clear();
    this.expected = number + 1;
    const known = this.ahead.get(number);
    this.ahead.delete(number);
    this.askAhead(number + 1);
    // a failure of the read-ahead is not the answer: ask again
    const block = (known && (await known)) ?? (await this.deps.l1.blockByNumber(number));
    if (block === undefined) this.expected = number;
    else if (known === undefined) this.warm(block);
    return block;
  }

  blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    return this.deps.l1.blockByHash(hash);
  }

  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    return this.deps.l1.receipts(blockHash);
  }

  transactions(blockHash: Hex): Promise<readonly Transaction[] | undefined> {
    return this.deps.l1.transactions(blockHash);
  }

  private askAhead(from: number): void {
    const head = this.deps.l1Head()?.number ?? 0;
    const last = Math.min(from + this.options.depth - 1, head - this.options.headDistance);
    for (let number = from; number <= last; number++) {
      if (this.ahead.has(number)) continue;
      const asked = this.deps.l1.blockByNumber(number).then((block) => {
        if (block !== undefined) this.warm(block);
        return block;
      }, undefinedOnFailure);
      this.ahead.set(number, asked);
    }
  }

  /** Fetches receipts and transactions in parallel, then blobs; the providers cache them by hash. */
  private warm(block: L1BlockHeader): void {
    const { l1, blobs } = this.deps;
    void l1.receipts(block.hash).catch(undefinedOnFailure);
    void l1
      .transactions(block.hash)
      .then((transactions) => {
        if (blobs !== undefined) blobs.source.readAhead(block, blobIdsSentTo(blobs.inbox, transactions ?? []));
      })
      .catch(undefinedOnFailure);
  }
}

/** The error is reported when the block is really asked for. */
function undefinedOnFailure(error: unknown): undefined {
  if (!isCodedError(error)) throw error;
  return undefined;
}

import { type BlobId, blobIdsSentTo, type L1BlockHeader, type L1Provider } from "@rnode/derivation";
import { type Hex, isCodedError } from "@rnode/primitives";
import type { L1BlockRef, L1Transaction, Receipt } from "@rnode/protocol";

export interface ReadAheadOptions {
  /** maximum number of blocks read ahead */
  readonly depth: number;
  /** maximum number of blocks per request */
  readonly batch: number;
  /** memory for blocks that were read ahead, roughly */
  readonly maxBytes: number;
  /**
   * Blocks closer to the head than this are requested one by one, because a reorg can still replace them: a removed block then
   * delays no other.
   */
  readonly headDistance: number;
}

/** A source of blobs that can fetch them before they are requested. */
export interface BlobReadAhead {
  readAhead(block: L1BlockRef, ids: readonly BlobId[]): void;
}

/** L1 that reads many blocks with few requests, into caches from which its other methods then answer. */
export interface L1BlockReader extends L1Provider {
  /** Like `blockByNumber`, for a block whose transactions will be requested next. */
  blockToRead(number: number): Promise<L1BlockHeader | undefined>;
  readBlocks(first: number, count: number): Promise<{ readonly headers: readonly L1BlockHeader[]; readonly sizeBytes: number }>;
}

export interface ReadAheadDeps {
  readonly l1: L1BlockReader;
  /** blobs of transactions to the address are also fetched ahead */
  readonly blobs?: { readonly source: BlobReadAhead; readonly inbox: Uint8Array } | undefined;
  readonly l1Head: () => L1BlockRef | undefined;
}

/** Assumed size of a block until the first blocks arrive. */
const FIRST_BLOCK_BYTES = 1024 * 1024;
/** Blobs are large, so only those of the next blocks are fetched ahead. */
const BLOBS_AHEAD = 8;
const MIN_DEPTH = 4;
/** Weight of a new measurement of the size of blocks. */
const WEIGHT = 0.5;

/**
 * L1 for a reader that needs header, receipts, transactions and blobs of consecutive blocks. While it processes one block, the
 * next ones are fetched, several per request and several requests at once, depending on their size. A block read ahead is
 * returned only once, for the next request of its number, so a restarted reader sees the current L1. It is returned only if it is
 * the child of the previously returned block, because a reorg can replace blocks near the head meanwhile.
 */
export class ReadAhead implements L1Provider {
  private readonly options: ReadAheadOptions;
  private readonly deps: ReadAheadDeps;
  private ahead = new Map<number, Promise<L1BlockHeader | undefined>>();
  private expected = -1;
  private lastHash: Hex | undefined;
  private nextAhead = 0;
  private blobsUpTo = -1;
  private blockBytes = FIRST_BLOCK_BYTES;

  constructor(options: ReadAheadOptions, deps: ReadAheadDeps) {
    this.options = options;
    this.deps = deps;
  }

  async blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    const head = this.deps.l1Head();
    // the reader is woken when there is a new head
    if (head !== undefined && number > head.number) return undefined;
    // A reader that failed requests the same block again, so blocks read ahead are kept.
    if (number !== this.expected && number !== this.expected - 1) {
      this.forget(number);
      this.lastHash = undefined;
    }
    this.nextAhead = Math.max(this.nextAhead, number + 1);
    this.expected = number + 1;
    const known = this.ahead.get(number);
    this.ahead.delete(number);
    this.askAhead(number, head?.number ?? 0);
    const read = known && (await known);
    const isNext = read !== undefined && (this.lastHash === undefined || read.parentHash === this.lastHash);
    if (read !== undefined && !isNext) this.forget(number); // L1 was reorganised since
    // a failed read-ahead is not the answer: request the block again
    const block = isNext ? read : await this.deps.l1.blockToRead(number);
    if (block === undefined) this.expected = number;
    else {
      // the read-ahead failed, but the reader has continued, so the block is fetched again
      if (known !== undefined && read === undefined) this.forget(number);
      this.lastHash = block.hash;
      if (!isNext) this.warm(block);
    }
    this.fetchBlobsAhead(number);
    return block;
  }

  blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    return this.deps.l1.blockByHash(hash);
  }

  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    return this.deps.l1.receipts(blockHash);
  }

  transactions(blockHash: Hex): Promise<readonly L1Transaction[] | undefined> {
    return this.deps.l1.transactions(blockHash);
  }

  /** Drops the blocks read ahead after a block. */
  private forget(number: number): void {
    this.ahead.clear();
    this.nextAhead = number + 1;
    this.blobsUpTo = number;
  }

  private askAhead(number: number, headNumber: number): void {
    const { depth: maxDepth, batch: maxBatch, maxBytes, headDistance } = this.options;
    const depth = Math.max(Math.min(MIN_DEPTH, maxDepth), Math.min(maxDepth, Math.floor(maxBytes / this.blockBytes)));
    const batch = Math.max(1, Math.min(maxBatch, Math.ceil(depth / 4)));
    const last = Math.min(number + depth, headNumber - headDistance);
    while (this.nextAhead <= last) {
      const count = Math.min(batch, last - this.nextAhead + 1);
      // close to the head there will not be a full batch for a while; elsewhere there is one soon
      if (count < batch && last === number + depth && this.ahead.size > 0) return;
      this.askBatch(this.nextAhead, count);
      this.nextAhead += count;
    }
    for (const end = Math.min(number + depth, headNumber); this.nextAhead <= end; this.nextAhead++) this.askOne(this.nextAhead);
  }

  /** As the reader itself asks. */
  private askOne(number: number): void {
    const read = this.deps.l1.blockToRead(number).catch(undefinedOnFailure);
    this.ahead.set(number, read);
    void read.then((block) => {
      if (block !== undefined && this.ahead.get(number) === read) this.warm(block);
    });
  }

  private askBatch(first: number, count: number): void {
    const read = this.deps.l1.readBlocks(first, count).then(({ headers, sizeBytes }) => {
      if (headers.length > 0) this.blockBytes += WEIGHT * (sizeBytes / headers.length - this.blockBytes);
      return headers;
    }, undefinedOnFailure);
    for (let index = 0; index < count; index++)
      this.ahead.set(
        first + index,
        read.then((headers) => headers?.[index]),
      );
  }

  /** Fetches receipts and transactions in parallel, then blobs; the providers cache them by hash. */
  private warm(block: L1BlockHeader): void {
    void this.deps.l1.receipts(block.hash).catch(undefinedOnFailure);
    this.fetchBlobs(block);
  }

  private fetchBlobsAhead(number: number): void {
    if (this.deps.blobs === undefined) return;
    for (let next = Math.max(this.blobsUpTo, number) + 1; next <= number + BLOBS_AHEAD; next++) {
      const block = this.ahead.get(next);
      if (block === undefined) return;
      this.blobsUpTo = next;
      void block.then((header) => {
        if (header !== undefined) this.fetchBlobs(header);
      });
    }
  }

  private fetchBlobs(block: L1BlockHeader): void {
    const { l1, blobs } = this.deps;
    void l1
      .transactions(block.hash)
      .then((transactions) => {
        if (blobs !== undefined) blobs.source.readAhead(block, blobIdsSentTo(blobs.inbox, transactions ?? []));
      })
      .catch(undefinedOnFailure);
  }
}

/** The later request for the block reports the error. */
function undefinedOnFailure(error: unknown): undefined {
  if (!isCodedError(error)) throw error;
  return undefined;
}

import type { L1Provider } from "@rnode/derivation";
import { RpcError, type RpcSubscription } from "@rnode/jsonrpc";
import { bytesToHex, type Clock, type Hex, isCodedError, toQuantity } from "@rnode/primitives";
import type { L1Transaction, Receipt } from "@rnode/protocol";
import type { L1Endpoint, L1Rpc } from "./endpoints/endpoint.ts";
import type { L1Endpoints, L1Log } from "./endpoints/endpoints.ts";
import type { L1Metrics } from "./endpoints/l1-metrics.ts";
import { NewerL1 } from "./endpoints/newer-l1.ts";
import { isNewerL1, L1Error } from "./l1-error.ts";
import { RawBlock } from "./raw-block.ts";
import { type L1RpcKind, ReceiptsFetcher } from "./receipts-fetcher.ts";
import { VerifiedCache } from "./verified/verified-cache.ts";
import { type ExpectedBlock, rawHeaderNeeded, statedHash, VerifiedHeader } from "./verified/verified-header.ts";
import type { VerifiedReceipts } from "./verified/verified-receipts.ts";
import { statedStorage, verifiedStorage } from "./verified/verified-storage.ts";
import { unknownTransactions, VerifiedTransactions } from "./verified/verified-transactions.ts";
import { yieldToOthers } from "./yield.ts";

export interface L1ClientOptions {
  /** do not recompute block hashes and transactions roots; receipts are verified in any case */
  readonly trustRpc: boolean;
  readonly rpcKind: L1RpcKind;
  /** number of headers, of transaction lists and of receipt lists to keep, by block hash */
  readonly cacheSize: number;
  /** memory for them, roughly; default 256 MiB */
  readonly cacheBytes?: number | undefined;
}

export interface L1ClientDeps {
  readonly endpoints: L1Endpoints;
  readonly clock: Clock;
  readonly metrics?: Pick<L1Metrics, "asked" | "blockRead"> | undefined;
  /** yields between two blocks; default: a turn of the event loop */
  readonly yieldToOthers?: (() => Promise<void>) | undefined;
  /** logs unknown features of a newer L1 */
  readonly log?: Pick<L1Log, "warn"> | undefined;
}

/** The value of a storage slot. */
export interface StorageWord {
  /** 32 bytes */
  readonly value: Uint8Array;
  /** false: the endpoint is trusted, and no proof was requested */
  readonly isProven: boolean;
}

/** Blocks that were read together. */
export interface BlocksRead {
  /** in order; shorter than requested at the end of L1 */
  readonly headers: readonly VerifiedHeader[];
  readonly sizeBytes: number;
}

export type L1BlockLabel = "latest" | "safe" | "finalized";

const DEFAULT_CACHE_BYTES = 256 * 1024 * 1024;
/** parts of the memory: receipts are the largest, headers are small */
const HEADERS_PART = 1 / 16;
const TRANSACTIONS_PART = 6 / 16;
const RECEIPTS_PART = 9 / 16;
/** For this time, the ancestors of the newest block are known to be canonical. */
const HEAD_COUNTS_MS = 30_000;
const MAX_LINKS = 64;

const UNKNOWN_BLOCK = /not found|unknown block|not available/i;

/**
 * Verified L1 blocks: returned and cached values have types that only their check can create.
 *
 * Answers by hash are cached, answers by number or label never are. The block of a number or a label cannot be proved by a hash;
 * derivation follows parent hashes from its genesis block. While the newest block is fresh, its known ancestors are used without
 * a request by number.
 */
export class L1Client implements L1Provider {
  private readonly options: L1ClientOptions;
  private readonly deps: L1ClientDeps;
  private readonly headers: VerifiedCache<VerifiedHeader>;
  private readonly transactionLists: VerifiedCache<VerifiedTransactions>;
  private readonly receiptLists: VerifiedCache<VerifiedReceipts>;
  private head: { readonly block: VerifiedHeader; readonly atMs: number } | undefined;
  /** hashes that came for numbers shortly below the head, since it came */
  private readonly said = new Map<number, Hex>();
  private readonly receiptsFetchers = new WeakMap<L1Endpoint, ReceiptsFetcher>();
  private readonly newer: NewerL1;
  private readonly yieldToOthers: () => Promise<void>;

  constructor(options: L1ClientOptions, deps: L1ClientDeps) {
    this.options = options;
    this.deps = deps;
    this.newer = new NewerL1(deps.clock, deps.log);
    this.yieldToOthers = deps.yieldToOthers ?? yieldToOthers;
    const { cacheSize: count, cacheBytes = DEFAULT_CACHE_BYTES } = options;
    this.headers = new VerifiedCache({ count, bytes: cacheBytes * HEADERS_PART });
    this.transactionLists = new VerifiedCache({ count, bytes: cacheBytes * TRANSACTIONS_PART });
    this.receiptLists = new VerifiedCache({ count, bytes: cacheBytes * RECEIPTS_PART });
  }

  /** @see L1Endpoints.chainIds */
  chainIds(): ReturnType<L1Endpoints["chainIds"]> {
    return this.deps.endpoints.chainIds();
  }

  /** The block of a label; undefined if the endpoint has none yet. @throws {L1Error} l1/unavailable */
  blockByLabel(label: L1BlockLabel): Promise<VerifiedHeader | undefined> {
    return this.deps.endpoints.request(`${label} block`, async ({ rpc }) => {
      this.deps.metrics?.asked("head", 1);
      const answer = await rpc.call("eth_getBlockByNumber", [label, false]).catch((error: unknown) => {
        // before the first finalized block some clients answer with an error, others with null
        if (label !== "latest" && error instanceof Error && UNKNOWN_BLOCK.test(error.message)) return null;
        throw error;
      });
      if (answer === null) return undefined;
      const block = await this.readHeader(rpc, answer);
      if (label === "latest") this.noteHead(block);
      else this.checkHead(block);
      return block;
    });
  }

  /**
   * Subscribes to new heads at the current endpoint, if it supports that (WebSocket).
   *
   * @param onHead called with the block, or with `undefined` if the notification is invalid
   * @returns `undefined` if the endpoint does not support it
   * @throws {L1Error} l1/unavailable
   */
  subscribeToHeads(onHead: (block: VerifiedHeader | undefined) => void): Promise<RpcSubscription | undefined> {
    return this.deps.endpoints.request("subscription to new heads", async ({ rpc }) => {
      try {
        return await rpc.subscribe?.(["newHeads"], (json) => onHead(this.newHead(json)));
      } catch (error) {
        if (error instanceof RpcError) return undefined;
        throw error;
      }
    });
  }

  /** The canonical block at a height; undefined beyond the newest one. @throws {L1Error} l1/unavailable */
  async blockByNumber(number: number): Promise<VerifiedHeader | undefined> {
    return (await this.linkedBlock(number)) ?? this.askByNumber(number, false);
  }

  /** Like `blockByNumber`, for a reader of transactions: an uncached block is requested with its transactions. */
  async blockToRead(number: number): Promise<VerifiedHeader | undefined> {
    return (await this.linkedBlock(number)) ?? this.askByNumber(number, true);
  }

  blockByHash(hash: Hex): Promise<VerifiedHeader | undefined> {
    const loaded = this.headers.get(hash, () =>
      this.deps.endpoints.request(`block ${hash}`, async ({ rpc }) => {
        this.deps.metrics?.asked("header", 1);
        const answer = await rpc.call("eth_getBlockByHash", [hash, false]);
        if (answer === null) throw new L1Error("l1/not-found", { hash });
        return this.readHeader(rpc, answer, { hash });
      }),
    );
    return undefinedWhenGone(loaded);
  }

  async transactions(blockHash: Hex): Promise<readonly L1Transaction[] | undefined> {
    return (await undefinedWhenGone(this.verifiedTransactions(blockHash)))?.list;
  }

  /** Hashes of the block's transactions, 32 bytes each, in their order. */
  async transactionHashes(blockHash: Hex): Promise<readonly Uint8Array[] | undefined> {
    return (await undefinedWhenGone(this.verifiedTransactions(blockHash)))?.hashes;
  }

  async receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    const loaded = this.receiptLists.get(blockHash, async () => {
      const transactions = await this.verifiedTransactions(blockHash);
      return this.deps.endpoints.request(`receipts of ${blockHash}`, (endpoint) => {
        if (transactions.hashes.length > 0) this.deps.metrics?.asked("receipts", 1);
        return this.orStuck(transactions.block.number, this.receiptsFetcher(endpoint).fetch(transactions));
      });
    });
    const verified = await undefinedWhenGone(loaded);
    if (verified !== undefined) this.noteReceipts(verified);
    return verified?.list;
  }

  /**
   * The value of a contract's storage slot (32 bytes) after a block, proved by `eth_getProof`; with `trustRpc` it is not proved.
   *
   * @throws {L1Error} l1/unavailable, also if no endpoint offers the proof or has the state any more
   */
  storageAt(address: Uint8Array, slot: Uint8Array, block: VerifiedHeader): Promise<StorageWord> {
    const [contract, key, at] = [bytesToHex(address), bytesToHex(slot), { blockHash: block.hash }];
    return this.deps.endpoints.request(`storage of ${contract} at block ${block.number}`, async ({ rpc }) => {
      this.deps.metrics?.asked("storage", 1);
      if (this.options.trustRpc) {
        return { value: statedStorage(await rpc.call("eth_getStorageAt", [contract, key, at])), isProven: false };
      }
      return {
        value: verifiedStorage(await rpc.call("eth_getProof", [contract, [key], at]), block, address, slot),
        isProven: true,
      };
    });
  }

  /**
   * Reads the blocks from number `first` on, with their transactions and receipts, into the caches: two batches for all of them.
   *
   * @throws {L1Error} l1/unavailable
   */
  async readBlocks(first: number, count: number): Promise<BlocksRead> {
    const { endpoints, metrics } = this.deps;
    const numbers = Array.from({ length: count }, (_, index) => first + index);
    const blocks = await endpoints.request(`blocks ${first} to ${first + count - 1}`, async ({ rpc }) => {
      metrics?.asked("block", count);
      const outcomes = await rpc.batch(
        numbers.map((number) => ({ method: "eth_getBlockByNumber", params: [toQuantity(number), true] })),
      );
      const read: VerifiedTransactions[] = [];
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.kind === "error") throw outcome.error;
        if (outcome.result === null) break;
        const transactions = await this.readFull(rpc, outcome.result, { number: first + index });
        this.checkHead(transactions.block);
        this.transactionLists.add(transactions);
        read.push(transactions);
        await this.yieldToOthers();
      }
      return read;
    });
    const receipts = await endpoints.request(`receipts of blocks ${first} to ${first + count - 1}`, (endpoint) => {
      const asked = blocks.filter(({ hashes }) => hashes.length > 0).length;
      if (asked > 0) metrics?.asked("receipts", asked);
      return this.orStuck(first, this.receiptsFetcher(endpoint).fetchMany(blocks));
    });
    for (const list of receipts) {
      this.noteReceipts(list);
      this.receiptLists.add(list);
    }
    const sizeBytes = [...blocks, ...receipts].reduce((sum, part) => sum + part.sizeBytes, 0);
    return { headers: blocks.map(({ block }) => block), sizeBytes };
  }

  private noteReceipts({ unknownType, block }: VerifiedReceipts): void {
    if (unknownType !== undefined) this.newer.known(`receipt type ${toQuantity(unknownType)}`, block.number);
  }

  private newHead(json: unknown): VerifiedHeader | undefined {
    try {
      const block = this.keepHeader(this.headers.peek(statedHash(json)) ?? VerifiedHeader.check(json, this.options.trustRpc));
      this.noteHead(block);
      return block;
    } catch (error) {
      if (!isCodedError(error, "l1/")) throw error;
      return undefined;
    }
  }

  private noteHead(block: VerifiedHeader): void {
    this.head = { block, atMs: this.deps.clock.monotonicMs() };
    this.said.clear();
  }

  /** Forgets the head if it cannot be the newest block of the chain that this canonical block is in: L1 was reorganised, or has grown. */
  private checkHead(canonical: VerifiedHeader): void {
    if (this.head === undefined) return;
    const { number } = this.head.block;
    const known = this.hashBelowHead(canonical.number);
    const isAbove = canonical.number > number;
    if (isAbove || (known !== undefined && known !== canonical.hash)) this.head = undefined;
    else if (canonical.number >= number - MAX_LINKS) this.said.set(canonical.number, canonical.hash);
  }

  private askByNumber(number: number, isFull: boolean): Promise<VerifiedHeader | undefined> {
    return this.deps.endpoints.request(`block ${number}`, async ({ rpc }) => {
      this.deps.metrics?.asked(isFull ? "block" : "header", 1);
      const answer = await rpc.call("eth_getBlockByNumber", [toQuantity(number), isFull]);
      if (answer === null) return undefined;
      if (!isFull) {
        const block = await this.readHeader(rpc, answer, { number });
        this.checkHead(block);
        return block;
      }
      const transactions = await this.readFull(rpc, answer, { number });
      this.checkHead(transactions.block);
      this.transactionLists.add(transactions);
      return transactions.block;
    });
  }

  private async linkedBlock(number: number): Promise<VerifiedHeader | undefined> {
    const hash = this.hashBelowHead(number);
    if (hash === undefined) return undefined;
    const block = this.headers.peek(hash) ?? (await undefinedWhenGone(this.verifiedTransactions(hash)))?.block;
    if (block?.number !== number) return undefined;
    const below = this.said.get(number - 1);
    if (below === undefined || below === block.parentHash) return block;
    this.head = undefined; // newer blocks are on another branch than the known ancestors of the head
    return undefined;
  }

  /** The hash of the block at a height, by the parent hashes of the newest block. */
  private hashBelowHead(number: number): Hex | undefined {
    const { head } = this;
    if (head === undefined || this.deps.clock.monotonicMs() - head.atMs > HEAD_COUNTS_MS) return undefined;
    let block: VerifiedHeader | undefined = head.block;
    if (number > block.number || number < block.number - MAX_LINKS) return undefined;
    while (block !== undefined && block.number > number) {
      if (block.number === number + 1) return block.parentHash;
      block = this.headers.peek(block.parentHash);
    }
    return block?.hash;
  }

  private async readFull(rpc: L1Rpc, json: unknown, expected: ExpectedBlock): Promise<VerifiedTransactions> {
    const { trustRpc } = this.options;
    const block = await this.readHeader(rpc, json, expected);
    const unknown = unknownTransactions(json, block);
    const raw = await this.orStuck(block.number, trustRpc ? new Map() : new RawBlock(rpc).transactions(block, unknown));
    const transactions = VerifiedTransactions.check(json, block, trustRpc, raw);
    for (const { typeByte } of unknown) this.newer.known(`transaction type ${toQuantity(typeByte)}`, block.number);
    this.deps.metrics?.blockRead();
    return transactions;
  }

  /** Logs the remedy if a block needs a newer version, or an endpoint with raw bytes. */
  private async orStuck<T>(l1Block: number, asked: T | Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      if (isNewerL1(error) && error instanceof Error) this.newer.stuck(error.message, l1Block);
      throw error;
    }
  }

  private verifiedTransactions(blockHash: Hex): Promise<VerifiedTransactions> {
    return this.transactionLists.get(blockHash, async () => {
      const known = this.headers.peek(blockHash);
      const none = known && VerifiedTransactions.noneOf(known);
      if (none !== undefined) return none;
      return this.deps.endpoints.request(`transactions of ${blockHash}`, async ({ rpc }) => {
        this.deps.metrics?.asked("block", 1);
        const answer = await rpc.call("eth_getBlockByHash", [blockHash, true]);
        if (answer === null) throw new L1Error("l1/not-found", { hash: blockHash });
        return this.readFull(rpc, answer, { hash: blockHash });
      });
    });
  }

  /** The header of a block object, which is then cached. A block whose hash is cached is not parsed a second time. */
  private async readHeader(rpc: L1Rpc, json: unknown, expected: ExpectedBlock = {}): Promise<VerifiedHeader> {
    const known = this.headers.peek(statedHash(json));
    return this.keepHeader(known ?? (await this.checkedHeader(rpc, json)), expected);
  }

  private async checkedHeader(rpc: L1Rpc, json: unknown): Promise<VerifiedHeader> {
    try {
      return VerifiedHeader.check(json, this.options.trustRpc);
    } catch (error) {
      if (!isCodedError(error, "l1/faulty-answer")) throw error;
      const hash = statedHash(json);
      const encoded = await new RawBlock(rpc).header(hash);
      const block = encoded && VerifiedHeader.fromRaw(encoded, hash);
      if (block !== undefined) {
        this.newer.known("header fields", block.number);
        return block;
      }
      const needed = encoded === undefined ? rawHeaderNeeded(json, error.message) : undefined;
      if (needed !== undefined) this.newer.stuck(needed.message, Number(needed.data.block));
      throw needed ?? error;
    }
  }

  private keepHeader(block: VerifiedHeader, expected: ExpectedBlock = {}): VerifiedHeader {
    block.assertIs(expected);
    const parent = this.headers.peek(block.parentHash);
    if (parent !== undefined) block.assertFollows(parent);
    this.headers.add(block);
    return block;
  }

  private receiptsFetcher(endpoint: L1Endpoint): ReceiptsFetcher {
    const known = this.receiptsFetchers.get(endpoint);
    if (known !== undefined) return known;
    const created = new ReceiptsFetcher(this.options.rpcKind, endpoint.rpc, this.deps.clock, this.yieldToOthers);
    this.receiptsFetchers.set(endpoint, created);
    return created;
  }
}

/** A block that no endpoint has was removed, or never existed. */
function undefinedWhenGone<T>(loaded: Promise<T>): Promise<T | undefined> {
  return loaded.catch((error: unknown) => {
    if (isCodedError(error, "l1/not-found")) return undefined;
    throw error;
  });
}

import type { L1Provider } from "@rnode/derivation";
import { type Clock, type Hex, isCodedError, toQuantity } from "@rnode/primitives";
import type { Receipt, Transaction } from "@rnode/protocol";
import type { L1Endpoint } from "./endpoint.ts";
import type { L1Endpoints } from "./endpoints.ts";
import { L1Error } from "./l1-error.ts";
import { type L1RpcKind, ReceiptsFetcher } from "./receipts-fetcher.ts";
import { VerifiedCache } from "./verified-cache.ts";
import { type ExpectedBlock, statedHash, VerifiedHeader } from "./verified-header.ts";
import type { VerifiedReceipts } from "./verified-receipts.ts";
import { VerifiedTransactions } from "./verified-transactions.ts";

export interface L1ClientOptions {
  /** do not recompute block hashes and transactions roots; receipts are verified in any case */
  readonly trustRpc: boolean;
  readonly rpcKind: L1RpcKind;
  /** number of headers, of transaction lists and of receipt lists to keep, by block hash */
  readonly cacheSize: number;
}

export interface L1ClientDeps {
  readonly endpoints: L1Endpoints;
  readonly clock: Clock;
}

export type L1BlockLabel = "latest" | "safe" | "finalized";

const UNKNOWN_BLOCK = /not found|unknown block|not available/i;

/**
 * Verified L1 blocks: what is returned and what is cached are values of types that only their check can create.
 *
 * Answers by hash are cached, answers by number or label never are. Which block has a number or a label is the endpoint's word,
 * which no hash can prove; derivation follows parent hashes from the genesis block that it knows.
 */
export class L1Client implements L1Provider {
  private readonly options: L1ClientOptions;
  private readonly deps: L1ClientDeps;
  private readonly headers: VerifiedCache<VerifiedHeader>;
  private readonly transactionLists: VerifiedCache<VerifiedTransactions>;
  private readonly receiptLists: VerifiedCache<VerifiedReceipts>;
  private readonly receiptsFetchers = new WeakMap<L1Endpoint, ReceiptsFetcher>();

  constructor(options: L1ClientOptions, deps: L1ClientDeps) {
    this.options = options;
    this.deps = deps;
    this.headers = new VerifiedCache(options.cacheSize);
    this.transactionLists = new VerifiedCache(options.cacheSize);
    this.receiptLists = new VerifiedCache(options.cacheSize);
  }

  /** @see L1Endpoints.chainIds */
  chainIds(): ReturnType<L1Endpoints["chainIds"]> {
    return this.deps.endpoints.chainIds();
  }

  /** The block of a label; undefined if the endpoint has none yet. @throws {L1Error} l1/unavailable */
  blockByLabel(label: L1BlockLabel): Promise<VerifiedHeader | undefined> {
    return this.deps.endpoints.request(`${label} block`, async ({ rpc }) => {
      const answer = await rpc.call("eth_getBlockByNumber", [label, false]).catch((error: unknown) => {
        // before the first finalized block some clients answer with an error, others with null
        if (label !== "latest" && error instanceof Error && UNKNOWN_BLOCK.test(error.message)) return null;
        throw error;
      });
      return answer === null ? undefined : this.readHeader(answer);
    });
  }

  blockByNumber(number: number): Promise<VerifiedHeader | undefined> {
    return this.deps.endpoints.request(`block ${number}`, async ({ rpc }) => {
      const answer = await rpc.call("eth_getBlockByNumber", [toQuantity(number), false]);
      return answer === null ? undefined : this.readHeader(answer, { number });
    });
  }

  blockByHash(hash: Hex): Promise<VerifiedHeader | undefined> {
    const loaded = this.headers.get(hash, () =>
      this.deps.endpoints.request(`block ${hash}`, async ({ rpc }) => {
        const answer = await rpc.call("eth_getBlockByHash", [hash, false]);
        if (answer === null) throw new L1Error("l1/not-found", { hash });
        return this.readHeader(answer, { hash });
      }),
    );
    return undefinedWhenGone(loaded);
  }

  async transactions(blockHash: Hex): Promise<readonly Transaction[] | undefined> {
    return (await undefinedWhenGone(this.verifiedTransactions(blockHash)))?.list;
  }

  /** Hashes of the block's transactions, 32 bytes each, in their order. */
  async transactionHashes(blockHash: Hex): Promise<readonly Uint8Array[] | undefined> {
    return (await undefinedWhenGone(this.verifiedTransactions(blockHash)))?.hashes;
  }

  async receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    const loaded = this.receiptLists.get(blockHash, async () => {
      const transactions = await this.verifiedTransactions(blockHash);
      return this.deps.endpoints.request(`receipts of ${blockHash}`, (endpoint) =>
        this.receiptsFetcher(endpoint).fetch(transactions),
      );
    });
    return (await undefinedWhenGone(loaded))?.list;
  }

  private verifiedTransactions(blockHash: Hex): Promise<VerifiedTransactions> {
    return this.transactionLists.get(blockHash, async () => {
      const known = this.headers.peek(blockHash);
      const none = known && VerifiedTransactions.noneOf(known);
      if (none !== undefined) return none;
      return this.deps.endpoints.request(`transactions of ${blockHash}`, async ({ rpc }) => {
        const answer = await rpc.call("eth_getBlockByHash", [blockHash, true]);
        if (answer === null) throw new L1Error("l1/not-found", { hash: blockHash });
        const block = this.readHeader(answer, { hash: blockHash });
        return VerifiedTransactions.check(answer, block, this.options.trustRpc);
      });
    });
  }

  /** The header of a block object, which is then cached. A block whose hash is cached is not parsed a second time. */
  private readHeader(json: unknown, expected: ExpectedBlock = {}): VerifiedHeader {
    const block = this.headers.peek(statedHash(json)) ?? VerifiedHeader.check(json, this.options.trustRpc);
    block.assertIs(expected);
    const parent = this.headers.peek(block.parentHash);
    if (parent !== undefined) block.assertFollows(parent);
    this.headers.add(block);
    return block;
  }

  private receiptsFetcher(endpoint: L1Endpoint): ReceiptsFetcher {
    const known = this.receiptsFetchers.get(endpoint);
    if (known !== undefined) return known;
    const created = new ReceiptsFetcher(this.options.rpcKind, endpoint.rpc, this.deps.clock);
    this.receiptsFetchers.set(endpoint, created);
    return created;
  }
}

/** A block that every endpoint says it does not have is gone, or never existed. */
function undefinedWhenGone<T>(loaded: Promise<T>): Promise<T | undefined> {
  return loaded.catch((error: unknown) => {
    if (isCodedError(error, "l1/not-found")) return undefined;
    throw error;
  });
}

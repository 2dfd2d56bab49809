import type { L1BlockHeader, L1Provider } from "@rnode/derivation";
import type { Clock } from "@rnode/primitives";
import { type Hex, isCodedError, parseQuantity, toQuantity } from "@rnode/primitives";
import type { Receipt, Transaction } from "@rnode/protocol";
import { isEndpointFailure, type L1Endpoint, type L1Rpc } from "./endpoint.ts";
import { faultyAnswer, L1Error } from "./l1-error.ts";
import { LoadingCache } from "./loading-cache.ts";
import { type L1RpcKind, ReceiptsFetcher } from "./receipts-fetcher.ts";
import { type L1Block, readAnswer, verifyBlockJson, verifyFullBlockJson } from "./verified-block.ts";

export interface L1ClientOptions {
  /** an endpoint of another chain is never used; undefined: any chain */
  readonly chainId?: bigint | undefined;
  /** skip recomputing block hashes and transactions roots; receipts are verified in any case */
  readonly trustRpc: boolean;
  readonly rpcKind: L1RpcKind;
  /** blocks, transactions and receipts kept, each, by hash */
  readonly cacheSize: number;
  /** attempts of one request, over all endpoints, before it fails with l1/unavailable */
  readonly maxAttempts?: number | undefined;
}

export interface L1ClientLog {
  warn(text: string, fields?: Record<string, unknown>): void;
  debug(text: string, fields?: Record<string, unknown>): void;
}

export interface L1ClientMetrics {
  /** an answer that does not match its hash or root */
  faultyAnswer(endpoint: string): void;
  requestFailed(endpoint: string): void;
}

export interface L1ClientDeps {
  /** the first is used until it fails, then the next */
  readonly endpoints: readonly L1Endpoint[];
  readonly clock: Clock;
  readonly log: L1ClientLog;
  readonly metrics?: L1ClientMetrics | undefined;
}

export type L1BlockLabel = "latest" | "safe" | "finalized";

const UNKNOWN_BLOCK = /not found|unknown block|not available/i;
const DEFAULT_MAX_ATTEMPTS = 4;
const FIRST_RETRY_DELAY_MS = 250;
const MAX_RETRY_DELAY_MS = 4_000;

interface EndpointState {
  readonly name: string;
  readonly rpc: L1Rpc;
  readonly receipts: ReceiptsFetcher;
  /** it has said that it is of the right chain */
  isOfOurChain: boolean;
}

/**
 * L1 blocks as they can be trusted: every header recomputed to its hash, every transaction and receipt list to its root.
 *
 * Answers by number or label are never taken from the cache, answers by hash are. A failed or faulty answer is retried, on the next
 * endpoint where there is one; what still fails rejects with an `L1Error` l1/unavailable, which is temporary.
 */
export class L1Client implements L1Provider {
  private readonly options: L1ClientOptions;
  private readonly deps: L1ClientDeps;
  private readonly endpoints: readonly EndpointState[];
  private current = 0;
  private readonly blocks: LoadingCache<L1Block>;
  private readonly transactionLists: LoadingCache<readonly Transaction[]>;
  private readonly receiptLists: LoadingCache<readonly Receipt[]>;

  constructor(options: L1ClientOptions, deps: L1ClientDeps) {
    this.options = options;
    this.deps = deps;
    this.endpoints = deps.endpoints.map(({ name, rpc }) => ({
      name,
      rpc,
      receipts: new ReceiptsFetcher(options.rpcKind, rpc, deps.clock),
      isOfOurChain: options.chainId === undefined,
    }));
    this.blocks = new LoadingCache(options.cacheSize);
    this.transactionLists = new LoadingCache(options.cacheSize);
    this.receiptLists = new LoadingCache(options.cacheSize);
  }

  /**
   * Chain id of each endpoint, undefined where it does not answer.
   *
   * @throws {L1Error} l1/unavailable: none answers
   */
  async chainIds(): Promise<readonly { readonly endpoint: string; readonly chainId: bigint | undefined }[]> {
    const failures: Error[] = [];
    const answers = await Promise.all(
      this.endpoints.map(async ({ name, rpc }) => {
        try {
          return { endpoint: name, chainId: await readChainId(rpc) };
        } catch (error) {
          if (!isEndpointFailure(error)) throw error;
          failures.push(error);
          return { endpoint: name, chainId: undefined };
        }
      }),
    );
    if (failures.length < this.endpoints.length) return answers;
    const [first] = failures;
    throw new L1Error("l1/unavailable", { what: "chain id", reason: first?.message ?? "no endpoints" }, { cause: first });
  }

  /** The block with a label; undefined when the endpoint has none yet. @throws {L1Error} l1/unavailable */
  blockByLabel(label: L1BlockLabel): Promise<L1BlockHeader | undefined> {
    return this.request(`${label} block`, async ({ rpc }) => {
      const answer = await rpc.call("eth_getBlockByNumber", [label, false]).catch((error: unknown) => {
        // before the first finalized block some clients answer with an error, others with null
        if (label !== "latest" && error instanceof Error && UNKNOWN_BLOCK.test(error.message)) return null;
        throw error;
      });
      return answer === null ? undefined : this.remember(verifyBlockJson(answer, this.options.trustRpc)).ref;
    });
  }

  blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
    return this.request(`block ${number}`, async ({ rpc }) => {
      const answer = await rpc.call("eth_getBlockByNumber", [toQuantity(number), false]);
      return answer === null ? undefined : this.remember(verifyBlockJson(answer, this.options.trustRpc, { number })).ref;
    });
  }

  async blockByHash(hash: Hex): Promise<L1BlockHeader | undefined> {
    return (await undefinedWhenGone(this.block(hash)))?.ref;
  }

  transactions(blockHash: Hex): Promise<readonly Transaction[] | undefined> {
    const loaded = this.transactionLists.get(blockHash, () =>
      this.request(`transactions of ${blockHash}`, async ({ rpc }) => {
        const known = this.blocks.peek(blockHash);
        if (known?.transactionHashes.length === 0) return [];
        const answer = await rpc.call("eth_getBlockByHash", [blockHash, true]);
        if (answer === null) throw new L1Error("l1/not-found", { hash: blockHash });
        const block = verifyFullBlockJson(answer, this.options.trustRpc, { hash: blockHash });
        this.remember(block);
        return block.transactions;
      }),
    );
    return undefinedWhenGone(loaded);
  }

  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined> {
    const loaded = this.receiptLists.get(blockHash, async () => {
      const block = await this.block(blockHash);
      return this.request(`receipts of ${blockHash}`, (endpoint) => endpoint.receipts.fetch(block));
    });
    return undefinedWhenGone(loaded);
  }

  private block(hash: Hex): Promise<L1Block> {
    return this.blocks.get(hash, () =>
      this.request(`block ${hash}`, async ({ rpc }) => {
        const answer = await rpc.call("eth_getBlockByHash", [hash, false]);
        if (answer === null) throw new L1Error("l1/not-found", { hash });
        return verifyBlockJson(answer, this.options.trustRpc, { hash });
      }),
    );
  }

  private remember(block: L1Block): L1Block {
    this.blocks.set(block.hash, block);
    return block;
  }

  private async request<T>(what: string, attempt: (endpoint: EndpointState) => Promise<T>): Promise<T> {
    const maxAttempts = this.options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
    for (let attempts = 1; ; attempts++) {
      const endpoint = this.endpoints[this.current];
      if (endpoint === undefined) throw new L1Error("l1/unavailable", { what, attempts: 0 });
      try {
        if (!endpoint.isOfOurChain) await this.checkChain(endpoint);
        return await attempt(endpoint);
      } catch (error) {
        if (!isEndpointFailure(error)) throw error;
        this.noteFailure(endpoint, what, error);
        if (attempts >= maxAttempts) {
          if (isCodedError(error, "l1/not-found")) throw error;
          throw new L1Error("l1/unavailable", { what, attempts, endpoint: endpoint.name, reason: error.message }, { cause: error });
        }
        this.current = (this.current + 1) % this.endpoints.length;
        await this.deps.clock.sleep(Math.min(FIRST_RETRY_DELAY_MS * 2 ** (attempts - 1), MAX_RETRY_DELAY_MS));
      }
    }
  }

  /** Before an endpoint's first use: its blocks may be right in themselves and yet of another chain. */
  private async checkChain(endpoint: EndpointState): Promise<void> {
    const chainId = await readChainId(endpoint.rpc);
    if (chainId !== this.options.chainId) {
      throw faultyAnswer("another chain", { expected: String(this.options.chainId), got: chainId });
    }
    endpoint.isOfOurChain = true;
  }

  private noteFailure(endpoint: EndpointState, what: string, error: Error): void {
    const reason = error.message;
    if (isCodedError(error, "l1/faulty-answer")) {
      this.deps.metrics?.faultyAnswer(endpoint.name);
      this.deps.log.warn("L1 endpoint gave a faulty answer", { endpoint: endpoint.name, what, reason });
    } else {
      this.deps.metrics?.requestFailed(endpoint.name);
      this.deps.log.debug("L1 request failed", { endpoint: endpoint.name, what, reason });
    }
  }
}

async function readChainId(rpc: L1Rpc): Promise<bigint> {
  const answer = await rpc.call("eth_chainId", []);
  return readAnswer("chain id", () => parseQuantity(String(answer)));
}

/** A block that every endpoint says it does not have is gone (or was never there). */
function undefinedWhenGone<T>(loaded: Promise<T>): Promise<T | undefined> {
  return loaded.catch((error: unknown) => {
    if (isCodedError(error, "l1/not-found")) return undefined;
    throw error;
  });
}

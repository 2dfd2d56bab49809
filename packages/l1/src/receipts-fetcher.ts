import { RpcError } from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import { bytesToHex } from "@rnode/primitives";
import type { L1Rpc } from "./endpoint.ts";
import { faultyAnswer } from "./l1-error.ts";
import { VerifiedReceipts } from "./verified-receipts.ts";
import type { VerifiedTransactions } from "./verified-transactions.ts";
import { yieldToOthers } from "./yield.ts";

/** `l1.rpckind`: the kind of endpoint, which decides the cheapest way to fetch receipts. */
export const L1_RPC_KINDS = [
  "alchemy",
  "quicknode",
  "infura",
  "parity",
  "nethermind",
  "debug_geth",
  "erigon",
  "basic",
  "any",
  "standard",
] as const;
export type L1RpcKind = (typeof L1_RPC_KINDS)[number];

type BlockMethod = "alchemy" | "debug" | "erigon" | "eth" | "parity";

const METHOD_NAMES = {
  alchemy: "alchemy_getTransactionReceipts",
  debug: "debug_getRawReceipts",
  erigon: "erigon_getBlockReceiptsByBlockHash",
  eth: "eth_getBlockReceipts",
  parity: "parity_getBlockReceipts",
} as const satisfies Record<BlockMethod, string>;

/**
 * Methods that answer for a whole block, cheapest first, each with the number of transactions from which it is worth its cost.
 * Spec: docs/protocol/05-services.md#receipt-strategies
 */
const METHODS_OF_KIND: Readonly<Record<L1RpcKind, readonly { method: BlockMethod; fromTransactions: number }[]>> = {
  alchemy: [
    { method: "alchemy", fromTransactions: 17 },
    { method: "eth", fromTransactions: 34 },
  ],
  quicknode: [
    { method: "debug", fromTransactions: 1 },
    { method: "eth", fromTransactions: 30 },
  ],
  infura: [],
  parity: [{ method: "parity", fromTransactions: 1 }],
  nethermind: [{ method: "parity", fromTransactions: 1 }],
  debug_geth: [{ method: "debug", fromTransactions: 1 }],
  erigon: [{ method: "erigon", fromTransactions: 1 }],
  basic: [],
  any: [
    { method: "alchemy", fromTransactions: 1 },
    { method: "debug", fromTransactions: 1 },
    { method: "erigon", fromTransactions: 1 },
    { method: "eth", fromTransactions: 1 },
    { method: "parity", fromTransactions: 1 },
  ],
  standard: [{ method: "eth", fromTransactions: 1 }],
};

const RESTORE_METHODS_AFTER_MS = 60_000;
const UNSUPPORTED_CODES: readonly number[] = [-32600, -32601, -32602];
const UNSUPPORTED_TEXT = /unsupported method|unknown method|invalid param|is not available|rpc method is not whitelisted/i;

/** Whether an error says that the endpoint does not support the method (and not that it failed this time). */
export function isUnsupportedMethodError(error: unknown): boolean {
  return error instanceof RpcError && (UNSUPPORTED_CODES.includes(error.code) || UNSUPPORTED_TEXT.test(error.message));
}

/** Fetches the receipts of blocks from one endpoint by the best method that it is known to support. */
export class ReceiptsFetcher {
  private readonly rpc: L1Rpc;
  private readonly kind: L1RpcKind;
  private readonly clock: Clock;
  private readonly unsupported = new Set<BlockMethod>();
  private restoredAtMs: number;

  constructor(kind: L1RpcKind, rpc: L1Rpc, clock: Clock) {
    this.kind = kind;
    this.rpc = rpc;
    this.clock = clock;
    this.restoredAtMs = clock.monotonicMs();
  }

  /** @throws the endpoint's error, or {L1Error} l1/faulty-answer; if the method was unsupported, a retry uses the next one */
  async fetch(transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const count = transactions.hashes.length;
    if (count === 0) return VerifiedReceipts.fromJson([], transactions);
    const method = this.pickMethod(count);
    if (method === undefined) return this.fetchEach(transactions);
    try {
      return await this.fetchBlock(method, transactions);
    } catch (error) {
      if (isUnsupportedMethodError(error)) this.unsupported.add(method);
      throw error;
    }
  }

  /**
   * The receipts of several blocks, in as few requests as allowed.
   *
   * @throws as `fetch`
   */
  async fetchMany(blocks: readonly VerifiedTransactions[]): Promise<readonly VerifiedReceipts[]> {
    const asked = blocks.flatMap((transactions) => {
      const count = transactions.hashes.length;
      const method = count === 0 ? undefined : this.pickMethod(count);
      return method === undefined ? [] : [{ transactions, method }];
    });
    const outcomes =
      asked.length === 0 ? [] : await this.rpc.batch(asked.map(({ transactions, method }) => callOf(method, transactions)));
    const fetched = new Map<VerifiedTransactions, VerifiedReceipts>();
    for (const [index, { transactions, method }] of asked.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind === "result") {
        fetched.set(transactions, readBlock(method, outcome.result, transactions));
        await yieldToOthers();
        continue;
      }
      if (isUnsupportedMethodError(outcome?.error)) this.unsupported.add(method);
      throw outcome?.error ?? faultyAnswer("batch without an answer");
    }
    const list: VerifiedReceipts[] = [];
    for (const transactions of blocks) list.push(fetched.get(transactions) ?? (await this.fetch(transactions)));
    return list;
  }

  private pickMethod(transactions: number): BlockMethod | undefined {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.restoredAtMs >= RESTORE_METHODS_AFTER_MS) {
      this.unsupported.clear();
      this.restoredAtMs = nowMs;
    }
    const usable = METHODS_OF_KIND[this.kind].find(
      ({ method, fromTransactions }) => transactions >= fromTransactions && !this.unsupported.has(method),
    );
    return usable?.method;
  }

  private async fetchBlock(method: BlockMethod, transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const { method: name, params } = callOf(method, transactions);
    return readBlock(method, await this.rpc.call(name, params), transactions);
  }

  private async fetchEach(transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const outcomes = await this.rpc.batch(
      transactions.hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [bytesToHex(hash)] })),
    );
    const answers = outcomes.map((outcome) => {
      if (outcome.kind === "error") throw outcome.error;
      return outcome.result;
    });
    return VerifiedReceipts.fromJson(answers, transactions);
  }
}

function callOf(method: BlockMethod, { block: { hash } }: VerifiedTransactions): { method: string; params: readonly unknown[] } {
  return { method: METHOD_NAMES[method], params: method === "alchemy" ? [{ blockHash: hash }] : [hash] };
}

function readBlock(method: BlockMethod, answer: unknown, transactions: VerifiedTransactions): VerifiedReceipts {
  if (method === "debug") return VerifiedReceipts.fromRaw(answer, transactions);
  const list = method === "alchemy" ? (answer as { receipts?: unknown } | null)?.receipts : answer;
  return VerifiedReceipts.fromJson(list, transactions);
}

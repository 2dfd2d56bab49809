import { RpcError } from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import { bytesToHex, isCodedError } from "@rnode/primitives";
import { isKnownTransactionType } from "@rnode/protocol";
import type { L1Rpc } from "./endpoints/endpoint.ts";
import { faultyAnswer, L1Error } from "./l1-error.ts";
import { isRefusal } from "./raw-block.ts";
import { mayHaveLargeReceipts, ReceiptsCollector, VerifiedReceipts } from "./verified/verified-receipts.ts";
import type { VerifiedTransactions } from "./verified/verified-transactions.ts";

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

/** Its list of receipts is within an object, so it cannot be parsed receipt by receipt. */
const NEVER_LARGE: BlockMethod = "alchemy";
/** 200 MB take 16 s at 100 Mbit/s. */
const LARGE_TIMEOUT_MS = 60_000;

const RESTORE_METHODS_AFTER_MS = 60_000;
const UNSUPPORTED_CODES: readonly number[] = [-32600, -32601, -32602];
const UNSUPPORTED_TEXT = /unsupported method|unknown method|invalid param|is not available|rpc method is not whitelisted/i;

/** Whether an error shows that the endpoint does not support the method (not a temporary failure). */
export function isUnsupportedMethodError(error: unknown): boolean {
  return error instanceof RpcError && (UNSUPPORTED_CODES.includes(error.code) || UNSUPPORTED_TEXT.test(error.message));
}

/** Fetches the receipts of blocks from one endpoint by the best method that it is known to support. */
export class ReceiptsFetcher {
  private readonly rpc: L1Rpc;
  private readonly kind: L1RpcKind;
  private readonly clock: Clock;
  private readonly yieldToOthers: () => Promise<void>;
  private readonly unsupported = new Set<BlockMethod>();
  private restoredAtMs: number;

  constructor(kind: L1RpcKind, rpc: L1Rpc, clock: Clock, yieldToOthers: () => Promise<void>) {
    this.kind = kind;
    this.rpc = rpc;
    this.clock = clock;
    this.yieldToOthers = yieldToOthers;
    this.restoredAtMs = clock.monotonicMs();
  }

  /** @throws the endpoint's error, or {L1Error} l1/faulty-answer; if the method was unsupported, a retry uses the next one */
  async fetch(transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const count = transactions.hashes.length;
    if (count === 0) return VerifiedReceipts.fromJson([], transactions);
    if (mayHaveLargeReceipts(transactions.block)) return this.fetchLarge(transactions);
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
      const isAlone = count === 0 || mayHaveLargeReceipts(transactions.block);
      const method = isAlone ? undefined : this.pickMethod(count);
      return method === undefined ? [] : [{ transactions, method }];
    });
    const outcomes =
      asked.length === 0 ? [] : await this.rpc.batch(asked.map(({ transactions, method }) => callOf(method, transactions)));
    const fetched = new Map<VerifiedTransactions, VerifiedReceipts>();
    for (const [index, { transactions, method }] of asked.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind === "result") {
        fetched.set(transactions, await this.verified(listOf(method, outcome.result), transactions, method));
        await this.yieldToOthers();
        continue;
      }
      if (isUnsupportedMethodError(outcome?.error)) this.unsupported.add(method);
      throw outcome?.error ?? faultyAnswer("batch without an answer");
    }
    const list: VerifiedReceipts[] = [];
    for (const transactions of blocks) list.push(fetched.get(transactions) ?? (await this.fetch(transactions)));
    return list;
  }

  /**
   * Raw bytes are a tenth of the JSON's size, so they are requested first, for every kind of endpoint. Either answer is parsed
   * receipt by receipt.
   */
  private async fetchLarge(transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    if (!this.unsupported.has("debug")) {
      try {
        return await this.collect("debug", transactions);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        this.unsupported.add("debug");
      }
    }
    const other = this.pickMethod(transactions.hashes.length, NEVER_LARGE);
    if (other === undefined) return this.fetchEach(transactions);
    try {
      return await this.collect(other, transactions);
    } catch (error) {
      if (isUnsupportedMethodError(error)) this.unsupported.add(other);
      throw error;
    }
  }

  private async collect(method: BlockMethod, transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const collector = new ReceiptsCollector(transactions);
    let unknown: string | undefined;
    const add = (entry: unknown): void => {
      unknown ??= method === "debug" ? undefined : unknownReceipt([entry]);
      if (method === "debug") collector.addRaw(entry);
      else collector.addJson(entry);
    };
    const { method: name, params } = callOf(method, transactions);
    try {
      // Without support for streaming elements, the answer has all of them.
      const rest = await this.rpc.call(name, params, { timeoutMs: LARGE_TIMEOUT_MS, onElement: add });
      if (!Array.isArray(rest)) throw faultyAnswer(name, { got: rest === null ? "null" : typeof rest });
      for (const entry of rest as unknown[]) add(entry);
      return collector.finish();
    } catch (error) {
      if (unknown === undefined || !isCodedError(error, "l1/faulty-answer")) throw error;
      const { message: reason } = error;
      throw new L1Error("l1/raw-needed", { block: transactions.block.number, what: unknown, reason, methods: METHOD_NAMES.debug });
    }
  }

  private pickMethod(transactions: number, except?: BlockMethod): BlockMethod | undefined {
    const nowMs = this.clock.monotonicMs();
    if (nowMs - this.restoredAtMs >= RESTORE_METHODS_AFTER_MS) {
      this.unsupported.clear();
      this.restoredAtMs = nowMs;
    }
    const usable = METHODS_OF_KIND[this.kind].find(
      ({ method, fromTransactions }) => transactions >= fromTransactions && method !== except && !this.unsupported.has(method),
    );
    return usable?.method;
  }

  private async fetchBlock(method: BlockMethod, transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const { method: name, params } = callOf(method, transactions);
    return this.verified(listOf(method, await this.rpc.call(name, params)), transactions, method);
  }

  /** Receipts whose JSON does not determine their bytes are requested again, as bytes. @param method `undefined`: one by one */
  private async verified(
    list: unknown,
    transactions: VerifiedTransactions,
    method: BlockMethod | undefined,
  ): Promise<VerifiedReceipts> {
    if (method === "debug") return VerifiedReceipts.fromRaw(list, transactions);
    try {
      return VerifiedReceipts.fromJson(list, transactions);
    } catch (error) {
      if (!isCodedError(error, "l1/faulty-answer")) throw error;
      const raw = await this.rawReceipts(transactions, unknownReceipt(list), error);
      // Bytes that JSON determines make the JSON a lie.
      if (raw?.unknownType === undefined) throw error;
      return raw;
    }
  }

  /** @param unknown why JSON does not suffice; `undefined` if it does */
  private async rawReceipts(
    transactions: VerifiedTransactions,
    unknown: string | undefined,
    { message: reason }: Error,
  ): Promise<VerifiedReceipts | undefined> {
    const { block } = transactions;
    const { name, params } = { name: METHOD_NAMES.debug, params: [block.hash] };
    try {
      return VerifiedReceipts.fromRaw(await this.rpc.call(name, params), transactions);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (unknown === undefined) return undefined;
      throw new L1Error("l1/raw-needed", { block: block.number, what: unknown, reason, methods: name });
    }
  }

  private async fetchEach(transactions: VerifiedTransactions): Promise<VerifiedReceipts> {
    const outcomes = await this.rpc.batch(
      transactions.hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [bytesToHex(hash)] })),
    );
    const answers = outcomes.map((outcome) => {
      if (outcome.kind === "error") throw outcome.error;
      return outcome.result;
    });
    return this.verified(answers, transactions, undefined);
  }
}

/** Known keys of receipts, in the root or not. */
const RECEIPT_KEYS: ReadonlySet<string> = new Set(
  (
    "type status root cumulativeGasUsed logsBloom logs transactionHash transactionIndex blockHash blockNumber blockTimestamp gasUsed " +
    "effectiveGasPrice contractAddress from to blobGasUsed blobGasPrice depositNonce depositReceiptVersion"
  ).split(" "),
);

/** Why the JSON of receipts may not determine their bytes. */
function unknownReceipt(list: unknown): string | undefined {
  for (const entry of Array.isArray(list) ? (list as unknown[]) : []) {
    if (typeof entry !== "object" || entry === null) continue;
    const { type } = entry as { readonly type?: unknown };
    if (typeof type === "string" && !isKnownTransactionType(Number(type))) return `a receipt of type ${type.slice(0, 20)}`;
    const key = Object.keys(entry).find((each) => !RECEIPT_KEYS.has(each));
    if (key !== undefined) return `a receipt field that is not known (${key.slice(0, 40)})`;
  }
  return undefined;
}

function callOf(method: BlockMethod, { block: { hash } }: VerifiedTransactions): { method: string; params: readonly unknown[] } {
  return { method: METHOD_NAMES[method], params: method === "alchemy" ? [{ blockHash: hash }] : [hash] };
}

/** The list of receipts in the answer of a method. */
const listOf = (method: BlockMethod, answer: unknown): unknown =>
  method === "alchemy" ? (answer as { receipts?: unknown } | null)?.receipts : answer;

import { type Method, type MethodTable, type RequestContext, type RpcClient, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { hexToBytes, toQuantity } from "@rnode/primitives";
import type { DevChainAccess } from "../block-maker.ts";
import type { RemoteState } from "./remote-state.ts";

/** An argument as the client wrote it, with its parsed value. */
interface Argument {
  readonly raw: unknown;
  readonly value: unknown;
}

interface Asked {
  readonly raw: readonly unknown[];
  readonly locally: () => unknown;
}

interface ForkedMethodsDeps {
  readonly remote: Pick<RpcClient, "call">;
  readonly state: RemoteState;
  readonly chain: Pick<DevChainAccess, "head" | "headerOf">;
}

/** Where methods have their block: those that show blocks, of which the fork block is the endpoint's, and those that read the state after one. */
const SHOWS_BLOCK: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getBlockByHash: 0,
  eth_getHeaderByNumber: 0,
  eth_getHeaderByHash: 0,
  eth_getBlockReceipts: 0,
  eth_getBlockTransactionCountByNumber: 0,
  eth_getBlockTransactionCountByHash: 0,
  eth_getTransactionByBlockNumberAndIndex: 0,
  eth_getTransactionByBlockHashAndIndex: 0,
  eth_getUncleCountByBlockNumber: 0,
  eth_getUncleCountByBlockHash: 0,
  debug_getRawBlock: 0,
  debug_getRawReceipts: 0,
  eth_getUncleByBlockNumberAndIndex: 0,
  eth_getUncleByBlockHashAndIndex: 0,
  eth_getRawTransactionByBlockNumberAndIndex: 0,
  eth_getRawTransactionByBlockHashAndIndex: 0,
  debug_traceBlockByNumber: 0,
  debug_traceBlockByHash: 0,
  debug_getRawHeader: 0,
  debug_getRawTransactions: 0,
  trace_block: 0,
  trace_replayBlockTransactions: 0,
  trace_blockOpcodeGas: 0,
};
const READS_STATE: Readonly<Record<string, number>> = {
  eth_getBalance: 1,
  eth_getTransactionCount: 1,
  eth_getCode: 1,
  eth_getStorageAt: 2,
  eth_getAccountInfo: 1,
  eth_getStorageValues: 1,
  eth_call: 1,
  eth_estimateGas: 1,
  eth_createAccessList: 1,
  debug_traceCall: 1,
  eth_simulateV1: 1,
  trace_call: 2,
  trace_callMany: 1,
};
/** They show tries, or all of the state: a forked chain has only what changed in its own blocks. */
const NEEDS_WHOLE_STATE: Readonly<Record<string, number>> = {
  eth_getProof: 2,
  eth_getMultiProof: 1,
  eth_getAccount: 1,
  debug_accountRange: 0,
  debug_dumpBlock: 0,
  debug_storageRangeAt: 0,
  debug_executionWitness: 0,
};
const BY_TRANSACTION = [
  ...["eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash"],
  ...["debug_traceTransaction", "trace_transaction", "debug_getRawTransaction", "trace_get"],
  ...["trace_replayTransaction", "trace_transactionOpcodeGas", "eth_getTransactionBySenderAndNonce"],
];
const FILLS = ["eth_sendTransaction", "eth_sendUnsignedTransaction", "eth_fillTransaction", "eth_signTransaction"];
const EXECUTES = ["eth_call", "eth_estimateGas", "eth_createAccessList"];

/** What happened before the fork is asked from the endpoint. */
export function forkedMethods(table: MethodTable, { remote, state, chain }: ForkedMethodsDeps): MethodTable {
  const forkNumber = state.block.header.number;
  const numberOf = (block: unknown): number | undefined => {
    if (block === "earliest") return 0;
    if (block === undefined || block === null) return numberOf("latest");
    if (typeof block === "object") {
      const { blockHash, blockNumber } = block as { readonly blockHash?: unknown; readonly blockNumber?: unknown };
      return numberOf(blockHash ?? blockNumber ?? "latest");
    }
    if (typeof block !== "string") return undefined;
    if (/^0x[0-9a-fA-F]{64}$/.test(block)) {
      const known = chain.headerOf({ kind: "hash", hash: hexToBytes(block), requireCanonical: false });
      return known?.header.number ?? -1; // of another chain than ours, or of an older block
    }
    if (/^0x[0-9a-fA-F]{1,13}$/.test(block)) return Number(block);
    if (block !== "latest" && block !== "safe" && block !== "finalized" && block !== "pending") return undefined;
    return chain.headerOf({ kind: "tag", tag: block })?.header.number;
  };
  const elsewhere = (name: string, raw: readonly unknown[]): Promise<unknown> => remote.call(name, raw);
  /** A tag means another block there. */
  const withBlock = (raw: readonly unknown[], at: number, number: number): unknown[] => {
    const isTag = raw[at] === undefined || raw[at] === null || (typeof raw[at] === "string" && !raw[at].startsWith("0x"));
    const params = Array.from({ length: Math.max(raw.length, at + 1) }, (_, index) => raw[index] ?? null);
    if (isTag) params[at] = toQuantity(number);
    return params;
  };

  const answers = new Map<string, (name: string, asked: Asked, own: Method) => unknown>();
  for (const [name, at] of Object.entries({ ...SHOWS_BLOCK, ...NEEDS_WHOLE_STATE }))
    answers.set(name, (_, { raw, locally }) => {
      const number = numberOf(raw[at]);
      if (number !== undefined && number <= forkNumber) return elsewhere(name, withBlock(raw, at, number));
      if (name in NEEDS_WHOLE_STATE)
        throw new RpcError(
          SERVER_ERROR,
          `${name}: a forked chain has no proofs and no whole state of its own blocks, the ones after block ${forkNumber}`,
        );
      return locally();
    });
  for (const [name, at] of Object.entries(READS_STATE))
    answers.set(name, (_, { raw, locally }) => {
      const number = numberOf(raw[at]);
      if (number !== undefined && number < forkNumber) return elsewhere(name, withBlock(raw, at, number));
      return EXECUTES.includes(name) ? state.expecting({ calls: () => [raw[0]] }, locally) : locally();
    });
  for (const name of FILLS) answers.set(name, (_, { raw, locally }) => state.expecting({ calls: () => [raw[0]] }, locally));
  for (const name of BY_TRANSACTION)
    answers.set(name, async (_, { raw, locally }) => {
      const found = await Promise.resolve()
        .then(locally)
        .catch(() => null); // for some methods, a missing item is an error
      return found === null || found === undefined || found === "0x" ? await elsewhere(name, raw) : found;
    });
  for (const name of ["eth_getLogs", "trace_filter"])
    answers.set(name, async (_, { raw, locally }, own) => {
      const filter = (raw[0] ?? {}) as { readonly fromBlock?: unknown; readonly toBlock?: unknown; readonly blockHash?: unknown };
      if (filter.blockHash !== undefined)
        return (numberOf(filter.blockHash) ?? 0) <= forkNumber ? await elsewhere(name, raw) : locally();
      const [from, to] = [numberOf(filter.fromBlock), numberOf(filter.toBlock)];
      if (from === undefined || to === undefined || from > forkNumber || from > to) return locally();
      const older = { ...filter, fromBlock: toQuantity(from), toBlock: toQuantity(Math.min(to, forkNumber)) };
      const before = (await elsewhere(name, [older])) as readonly unknown[];
      if (to <= forkNumber) return before;
      const after = await ask(own, [{ ...filter, fromBlock: toQuantity(forkNumber + 1), toBlock: toQuantity(to) }]);
      return [...before, ...(after as unknown[])];
    });
  answers.set("eth_feeHistory", async (name, { raw, locally }, own) => {
    const [count, newest] = [Number(raw[0]), numberOf(raw[1])];
    if (newest === undefined || newest > chain.head().number || !(count > newest - forkNumber)) return locally();
    const older = [toQuantity(count - Math.max(0, newest - forkNumber)), toQuantity(Math.min(newest, forkNumber)), ...raw.slice(2)];
    const before = (await elsewhere(name, older)) as FeeHistory;
    if (newest <= forkNumber) return before;
    const after = (await ask(own, [toQuantity(newest - forkNumber), toQuantity(newest), ...raw.slice(2)])) as FeeHistory;
    return joinedFees(before, after);
  });

  return Object.fromEntries(
    Object.entries(table).map(([name, own]) => {
      const answer = answers.get(name);
      return [name, answer === undefined ? own : withRawArguments(own, (asked) => answer(name, asked, own))] as const;
    }),
  );
}

const NO_CONTEXT: RequestContext = { transport: "http", remoteAddress: "", isGone: false, onGone: () => () => {} };
/** The own answer to other arguments. Some answers are JSON already. */
async function ask(own: Method, raw: readonly unknown[]): Promise<unknown> {
  const args = own.params.map(({ shape }, index) => (raw[index] === undefined ? undefined : shape.parse(raw[index])));
  return JSON.parse(JSON.stringify(await own.handler(args, NO_CONTEXT)));
}

type FeeHistory = Readonly<Record<string, unknown>>;

/** The fee lists of the older blocks end with the fee of the block after them, which is also the first of the newer ones. */
function joinedFees(before: FeeHistory, after: FeeHistory): FeeHistory {
  const listsOf = (name: string): readonly (readonly unknown[])[] =>
    [before[name], after[name]].map((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  const joined = Object.keys(after).map((name) => {
    const [older = [], newer = []] = listsOf(name);
    if (name === "oldestBlock") return [name, before[name]];
    return [name, [...(name.startsWith("baseFeePer") ? older.slice(0, -1) : older), ...newer]];
  });
  return Object.fromEntries(joined) as FeeHistory;
}

/** The same method; `answer` also sees the arguments as the client wrote them. */
function withRawArguments(own: Method, answer: (asked: Asked) => unknown): Method {
  const params = own.params.map((param) => {
    const parse = (raw: unknown): Argument => ({ raw, value: param.shape.parse(raw) });
    return { ...param, shape: { ...param.shape, parse } };
  });
  return {
    ...own,
    params,
    handler: (args, context) => {
      const given = args as readonly (Argument | undefined)[];
      return answer({
        raw: given.map((each) => each?.raw),
        locally: () =>
          own.handler(
            given.map((each) => each?.value),
            context,
          ),
      });
    },
  };
}

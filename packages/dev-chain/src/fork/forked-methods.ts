import { type Method, type MethodTable, type RequestContext, type RpcClient, RpcError, SERVER_ERROR } from "@rnode/jsonrpc";
import { hexToBytes, toQuantity } from "@rnode/primitives";
import type { DevChainAccess } from "../block-maker.ts";
import type { RemoteState } from "./remote-state.ts";

/** An argument as the client wrote it, beside what was read of it. */
interface Argument {
  readonly raw: unknown;
  readonly value: unknown;
}

interface Asked {
  readonly raw: readonly unknown[];
  readonly locally: () => unknown;
}

export interface ForkedMethodsDeps {
  readonly remote: Pick<RpcClient, "call">;
  readonly state: RemoteState;
  readonly chain: Pick<DevChainAccess, "headerOf">;
}

/** Where methods have their block: those that show blocks, of which the fork block is the endpoint's, and those that read the state after one. */
const SHOWS_BLOCK: Readonly<Record<string, number>> = {
  ...{ eth_getBlockByNumber: 0, eth_getBlockByHash: 0, eth_getHeaderByNumber: 0, eth_getHeaderByHash: 0, eth_getBlockReceipts: 0 },
  ...{ eth_getBlockTransactionCountByNumber: 0, eth_getBlockTransactionCountByHash: 0 },
  ...{ eth_getTransactionByBlockNumberAndIndex: 0, eth_getTransactionByBlockHashAndIndex: 0 },
  ...{ eth_getUncleCountByBlockNumber: 0, eth_getUncleCountByBlockHash: 0, debug_getRawBlock: 0, debug_getRawReceipts: 0 },
  ...{ debug_traceBlockByNumber: 0, debug_traceBlockByHash: 0, trace_block: 0, eth_getProof: 2 },
};
const READS_STATE: Readonly<Record<string, number>> = {
  ...{ eth_getBalance: 1, eth_getTransactionCount: 1, eth_getCode: 1, eth_getStorageAt: 2 },
  ...{ eth_call: 1, eth_estimateGas: 1, eth_createAccessList: 1, debug_traceCall: 1, eth_simulateV1: 1 },
};
const BY_TRANSACTION = [
  ...["eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash"],
  ...["debug_traceTransaction", "trace_transaction", "debug_getRawTransaction"],
];
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
  for (const [name, at] of Object.entries(SHOWS_BLOCK))
    answers.set(name, (_, { raw, locally }) => {
      const number = numberOf(raw[at]);
      if (number !== undefined && number <= forkNumber) return elsewhere(name, withBlock(raw, at, number));
      if (name === "eth_getProof")
        throw new RpcError(SERVER_ERROR, `a forked chain has no proofs of its own blocks, the ones after block ${forkNumber}`);
      return locally();
    });
  for (const [name, at] of Object.entries(READS_STATE))
    answers.set(name, (_, { raw, locally }) => {
      const number = numberOf(raw[at]);
      if (number !== undefined && number < forkNumber) return elsewhere(name, withBlock(raw, at, number));
      return EXECUTES.includes(name) ? state.expecting(raw[0], locally) : locally();
    });
  for (const name of BY_TRANSACTION)
    answers.set(name, async (_, { raw, locally }) => {
      const found = await Promise.resolve()
        .then(locally)
        .catch(() => null); // what is not found is an error of some methods
      return found === null || found === undefined || found === "0x" ? await elsewhere(name, raw) : found;
    });
  answers.set("eth_getLogs", async (name, { raw, locally }, own) => {
    const filter = (raw[0] ?? {}) as { readonly fromBlock?: unknown; readonly toBlock?: unknown; readonly blockHash?: unknown };
    if (filter.blockHash !== undefined)
      return (numberOf(filter.blockHash) ?? 0) <= forkNumber ? await elsewhere(name, raw) : locally();
    const [from, to] = [numberOf(filter.fromBlock), numberOf(filter.toBlock)];
    if (from === undefined || to === undefined || from > forkNumber || from > to) return locally();
    const older = { ...filter, fromBlock: toQuantity(from), toBlock: toQuantity(Math.min(to, forkNumber)) };
    const before = (await elsewhere(name, [older])) as readonly unknown[];
    if (to <= forkNumber) return before;
    const newer = own.params[0]!.shape.parse({ ...filter, fromBlock: toQuantity(forkNumber + 1), toBlock: toQuantity(to) });
    const after: unknown = await own.handler([newer], NO_CONTEXT);
    return [...before, ...(JSON.parse(jsonOf(after)) as unknown[])];
  });

  return Object.fromEntries(
    Object.entries(table).map(([name, own]) => {
      const answer = answers.get(name);
      return [name, answer === undefined ? own : withRawArguments(own, (asked) => answer(name, asked, own))] as const;
    }),
  );
}

const NO_CONTEXT: RequestContext = { transport: "http", remoteAddress: "", isGone: false, onGone: () => () => {} };
/** Some answers are JSON already. */
const jsonOf = (answer: unknown): string => JSON.stringify(answer);

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

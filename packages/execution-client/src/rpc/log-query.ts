import type { BlockSelector } from "@rnode/chain";
import { JsonText } from "@rnode/jsonrpc";
import type { LogQueryFault } from "../profile/profile.ts";
import { type ReadBackend, requireBlock, rpcError } from "./backend.ts";
import { LATEST } from "./block-selector.ts";
import { type LogFilter, logTextsOfBlock } from "./log-filter.ts";
import { assertRetained } from "./pruned-history.ts";

export interface LogLimits {
  readonly maxBlocks: number;
  readonly maxLogs: number;
}

/** `eth_getLogs`. Reads only blocks that the index names. @throws {RpcError} */
export function queryLogs(backend: ReadBackend, filter: LogFilter, limits: LogLimits): JsonText {
  const { profile, chain, store } = backend;
  const refuse = (fault: LogQueryFault): never => {
    throw rpcError(profile.errors.logQuery(fault));
  };
  if (filter.blockHash !== undefined) {
    if (filter.fromBlock !== undefined || filter.toBlock !== undefined) refuse({ kind: "hash-and-range" });
    const stored = requireBlock(backend, { kind: "hash", hash: filter.blockHash, requireCanonical: false });
    return arrayText(logTextsOfBlock(stored, filter));
  }
  const head = chain.head().number;
  const from = numberOf(backend, filter.fromBlock ?? LATEST);
  const to = numberOf(backend, filter.toBlock ?? LATEST);
  if (from > to) refuse({ kind: "bad-range" });
  if (Math.max(from, to) > head) refuse({ kind: "beyond-head", head });
  const last = to;
  assertRetained(store, profile, from);
  const { maxBlocks, maxLogs } = limits;
  if (last - from + 1 > maxBlocks) {
    refuse({ kind: "too-many-blocks", limit: maxBlocks, fromBlock: from, toBlock: from + maxBlocks - 1 });
  }
  const logs: string[] = [];
  for (const number of store.blocksWithLogs({ addresses: filter.addresses, topics: filter.topics }, from, last)) {
    const stored = chain.resolve({ kind: "number", number });
    if (stored === undefined) continue; // a reorganisation in between made the chain shorter
    const found = logTextsOfBlock(stored, filter);
    if (logs.length + found.length > maxLogs && last > from) {
      refuse({ kind: "too-many-logs", limit: maxLogs, fromBlock: from, toBlock: Math.max(from, number - 1) });
    }
    for (const log of found) logs.push(log);
  }
  return arrayText(logs);
}

const arrayText = (texts: readonly string[]): JsonText => new JsonText(`[${texts.join(",")}]`);

function numberOf(backend: ReadBackend, selector: BlockSelector): number {
  if (selector.kind === "number") return selector.number;
  const found = backend.chain.headerOf(selector);
  if (found === undefined) throw rpcError(backend.profile.errors.blockNotFound(selector));
  return found.header.number;
}

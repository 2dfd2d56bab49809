import { setImmediate } from "node:timers/promises";
import type { BlockSelector, PendingBlock } from "@rnode/chain";
import { JsonText, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type BlockParts, LogMatcher } from "@rnode/storage";
import { pendingOnHead, type ReadBackend } from "../backend/backend.ts";
import { partsOfPending } from "../backend/pending-blocks.ts";
import { isPending, sealed } from "../backend/pending-view.ts";
import { assertRetained, partsWithReceipts } from "../backend/pruned-history.ts";
import { TextCache } from "../backend/text-cache.ts";
import type { Work } from "../backend/work.ts";
import { LONG_BYTES } from "../json/json-writer.ts";
import { giveBackLogWriter, type PartsWriter, takeLogWriter } from "../json/parts-writer.ts";
import { LATEST } from "../params/block-selector.ts";
import type { LogFilter } from "../params/log-filter.ts";
import type { LogQueryFault } from "../profile/profile.ts";

export interface LogLimits {
  readonly maxBlocks: number;
  readonly maxLogs: number;
  /** limit for the size of the answer; default: none */
  readonly maxBytes?: number | undefined;
}

/** How long a query works before it yields to other requests. */
const SLICE_MS = 20;

/**
 * `eth_getLogs`. Reads only the blocks that the index names. A short query is answered synchronously. A long one yields to other
 * requests now and then, and starts over if a reorganisation happens in between, so that all logs of the answer are from one chain.
 * A range to `pending` includes the block under construction; without one, `pending` is the head.
 *
 * @param nowMs a monotonic clock
 * @throws {RpcError}
 */
export function queryLogs(
  backend: ReadBackend,
  work: Work,
  filter: LogFilter,
  limits: LogLimits,
  nowMs: () => number = () => performance.now(),
): JsonText | Promise<JsonText> {
  const { profile, chain, store } = backend;
  const refuse = (fault: LogQueryFault): never => {
    throw rpcErrorOf(profile.errors.logQuery(fault));
  };
  if (filter.blockHash !== undefined) {
    if (filter.fromBlock !== undefined || filter.toBlock !== undefined) refuse({ kind: "hash-and-range" });
    const { blockHash: hash } = filter;
    const parts = partsWithReceipts(backend, { kind: "hash", hash, requireCanonical: false });
    if (parts === undefined) return refuse({ kind: "unknown-block", hash });
    return logsOfParts(backend, filter, parts);
  }
  const { fromBlock = LATEST, toBlock = LATEST } = filter;
  if (refusesPending(backend, filter)) refuse({ kind: "pending" });
  const head = chain.head().number;
  const parts = pendingOnHead(backend);
  const pending = isPending(toBlock) ? parts : undefined;
  const from = isPending(fromBlock) && parts !== undefined ? head + 1 : numberOf(backend, fromBlock);
  const to = pending === undefined ? numberOf(backend, toBlock) : head + 1;
  if (from > to) refuse({ kind: "bad-range" });
  if (pending === undefined && to > head) refuse({ kind: "beyond-head", requested: to, head });
  assertRetained(store, profile, from);
  const { maxBlocks } = limits;
  if (to - from + 1 > maxBlocks) {
    refuse({ kind: "too-many-blocks", limit: maxBlocks, fromBlock: from, toBlock: from + maxBlocks - 1 });
  }
  if (from === to) {
    const only = pending ? partsOfPending(pending) : partsWithReceipts(backend, { kind: "number", number: from });
    if (only !== undefined) return logsOfParts(backend, filter, only);
  }
  const search = new LogSearch(backend, work, filter, limits, from, to, pending, nowMs);
  return search.step() ? search.result() : rest(search);
}

/** Whether the profile has no logs of `pending`; with a stream of blocks under construction, both have them. */
const refusesPending = ({ profile, pending }: ReadBackend, { fromBlock = LATEST, toBlock = LATEST }: LogFilter): boolean =>
  profile.logs.refusesPending && pending === undefined && (isPending(fromBlock) || isPending(toBlock));

/** Checks the block or range of a filter that is to be installed. @throws {RpcError} */
export function checkFilterRange(backend: ReadBackend, filter: LogFilter): void {
  const { profile } = backend;
  const refuse = (fault: LogQueryFault): never => {
    throw rpcErrorOf(profile.errors.logQuery(fault));
  };
  const { blockHash, fromBlock = LATEST, toBlock = LATEST } = filter;
  if (blockHash !== undefined && (filter.fromBlock !== undefined || filter.toBlock !== undefined))
    refuse({ kind: "hash-and-range" });
  if (refusesPending(backend, filter)) refuse({ kind: "pending" });
  if (!profile.logs.checksFilterRange) return;
  const from = numberOrTag(sealed(fromBlock));
  const to = numberOrTag(sealed(toBlock));
  const isValid =
    to === "latest"
      ? typeof from === "number" || from === "latest"
      : typeof from === "number" && typeof to === "number" && from <= to;
  if (!isValid) refuse({ kind: "bad-range" });
}

const numberOrTag = (selector: BlockSelector): number | string | undefined =>
  selector.kind === "number"
    ? selector.number
    : selector.kind === "tag"
      ? selector.tag === "earliest"
        ? 0
        : selector.tag
      : undefined;

/** Of answers about one block, mostly the newest, for which many clients ask. */
const ANSWER_BYTES = 4 * 1024 * 1024;
/** A longer filter is hardly that of many clients, and its text would take room. */
const MAX_CACHED_VALUES = 16;
const NO_CACHE = new TextCache(0);
const answers = new WeakMap<ReadBackend["chain"], TextCache>();

function logsOfParts({ chain }: ReadBackend, filter: LogFilter, parts: BlockParts): JsonText {
  const values = (filter.addresses?.length ?? 0) + filter.topics.reduce((sum, topic) => sum + (topic?.length ?? 0), 0);
  let cache = values > MAX_CACHED_VALUES ? NO_CACHE : answers.get(chain);
  if (cache === undefined) answers.set(chain, (cache = new TextCache(ANSWER_BYTES)));
  const key = cache === NO_CACHE ? "" : `${bytesToHex(parts.hash)} ${textOf(filter)}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const writer = takeLogWriter().open(parts);
  writer.logs(new LogMatcher(filter));
  const result = resultOf(writer, false);
  cache.set(key, result);
  return result;
}

const textOf = ({ addresses, topics }: LogFilter): string =>
  [addresses, ...topics].map((values) => values?.map(bytesToHex).join("|") ?? "").join(" ");

async function rest(search: LogSearch): Promise<JsonText> {
  do await setImmediate();
  while (!search.step());
  return search.result();
}

/** A query in progress. */
class LogSearch {
  readonly #backend: ReadBackend;
  readonly #work: Work;
  readonly #filter: LogFilter;
  readonly #limits: LogLimits;
  readonly #from: number;
  readonly #to: number;
  /** the last block of the range, unless all are canonical */
  readonly #pending: PendingBlock | undefined;
  readonly #nowMs: () => number;
  #blocks: Iterator<number>;
  /** hash of the last canonical block of the range */
  #lastHash: Uint8Array | undefined;
  /** the matching logs so far */
  readonly #writer = takeLogWriter();
  #count = 0;
  readonly #matcher: LogMatcher;

  constructor(
    backend: ReadBackend,
    work: Work,
    filter: LogFilter,
    limits: LogLimits,
    from: number,
    to: number,
    pending: PendingBlock | undefined,
    nowMs: () => number,
  ) {
    this.#work = work;
    this.#backend = backend;
    this.#filter = filter;
    this.#matcher = new LogMatcher(filter);
    this.#limits = limits;
    this.#from = from;
    this.#to = to;
    this.#pending = pending;
    this.#nowMs = nowMs;
    this.#blocks = this.#begin();
  }

  result(): JsonText {
    return resultOf(this.#writer);
  }

  /** Runs one slice. @returns whether the query is complete. @throws {RpcError} too many logs, and the errors of the work */
  step(): boolean {
    const { chain, store } = this.#backend;
    if (!isSame(this.#lastHash, store.readCanonicalHash(this.#lastCanonical))) this.#blocks = this.#begin();
    const endMs = this.#nowMs() + SLICE_MS;
    for (let next = this.#blocks.next(); !next.done; next = this.#blocks.next()) {
      this.#work.check();
      const parts = chain.partsOf({ kind: "number", number: next.value });
      if (parts?.hasReceipts) {
        const count = this.#writer.goOn(parts).logs(this.#matcher);
        if (count > 0) this.#add(next.value, count);
      }
      if (this.#nowMs() > endMs) return false;
    }
    const pending = this.#pending;
    if (pending !== undefined && isSame(this.#lastHash, pending.block.header.parentHash)) {
      const count = this.#writer.goOn(partsOfPending(pending)).logs(this.#matcher);
      if (count > 0) this.#add(this.#to, count);
    }
    return true;
  }

  get #lastCanonical(): number {
    return this.#pending === undefined ? this.#to : this.#to - 1;
  }

  #begin(): Iterator<number> {
    const { addresses, topics } = this.#filter;
    const { store } = this.#backend;
    this.#lastHash = store.readCanonicalHash(this.#lastCanonical);
    this.#writer.json.start();
    this.#count = 0;
    return store.blocksWithLogs({ addresses, topics }, this.#from, this.#lastCanonical)[Symbol.iterator]();
  }

  #add(number: number, count: number): void {
    const { maxLogs, maxBytes = Number.POSITIVE_INFINITY } = this.#limits;
    const isRange = this.#to > this.#from;
    const passes = { fromBlock: this.#from, toBlock: Math.max(this.#from, number - 1) };
    this.#count += count;
    if (this.#count > maxLogs && isRange) this.#refuse({ kind: "too-many-logs", limit: maxLogs, ...passes });
    if (this.#writer.json.size + 1 > maxBytes && isRange) this.#refuse({ kind: "too-large", limitBytes: maxBytes, ...passes });
  }

  #refuse(fault: LogQueryFault): never {
    throw rpcErrorOf(this.#backend.profile.errors.logQuery(fault));
  }
}

const isSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : equalBytes(a, b);

/** The logs that were written, as an array; the writer is given back. */
function resultOf(writer: PartsWriter, isOwned = true): JsonText {
  const { json } = writer;
  const result = json.size < LONG_BYTES ? new JsonText(`[${json.take()}]`) : new JsonText(json.takeBytes("[", "]"), isOwned);
  giveBackLogWriter(writer);
  return result;
}

function numberOf(backend: ReadBackend, selector: BlockSelector): number {
  if (selector.kind === "number") return selector.number;
  const found = backend.chain.headerOf(sealed(selector));
  if (found === undefined) throw rpcErrorOf(backend.profile.errors.blockNotFound(selector));
  return found.header.number;
}

import { randomBytes } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type { BlockSelector, HeadChange } from "@rnode/chain";
import { JsonText, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { PooledTransaction } from "@rnode/txpool";
import type { ReadBackend } from "../backend/backend.ts";
import { UNLIMITED_WORK } from "../backend/work.ts";
import { type LogLimits, queryLogs } from "../logs/log-query.ts";
import { LATEST } from "../params/block-selector.ts";
import type { LogFilter } from "../params/log-filter.ts";
import { BlockJournal } from "./block-journal.ts";
import { ChangeJournal } from "./change-journal.ts";
import { FilterQuota, type FilterQuotaLimits } from "./filter-quota.ts";
import { LogChanges } from "./log-changes.ts";
import type { PendingFeed } from "./subscriptions.ts";

type Filter =
  | { readonly kind: "logs"; readonly criteria: LogFilter }
  | { readonly kind: "blocks" }
  | { readonly kind: "transactions" };

interface Installed {
  readonly filter: Filter;
  /** of the client that installed it */
  readonly remoteAddress: string;
  /** rough size in memory */
  readonly bytes: number;
  /** in the journal: what comes from here on has not been told */
  position: number;
  lastPolledMs: number;
}

export interface FilterLimits extends LogLimits, FilterQuotaLimits {
  /** a filter that has not been polled for this long is removed */
  readonly lifetimeMs: number;
  /** size limit of each journal; a filter that has not read a dropped entry is removed */
  readonly maxJournalBytes: number;
  /** 0 … 127: the start of every id, which shows others which of several registries a filter is in */
  readonly idTag?: number | undefined;
}

const MIB = 1024 * 1024;
export const DEFAULT_FILTER_LIMITS = {
  maxFilters: 10_000,
  maxFilterBytes: 32 * MIB,
  lifetimeMs: 5 * 60_000,
  maxJournalBytes: 16 * MIB,
} as const;

/** Measured: a filter, and each address or topic that it looks for. */
const BYTES_PER_FILTER = 600;
const BYTES_PER_VALUE = 200;
/** of a hash as text */
const BYTES_PER_HASH = 120;

/**
 * The filters that are polled: `eth_newFilter` and the related methods. They are kept in memory only, as in other clients. Events
 * are stored once, in a journal; a filter is a position in it with its criteria.
 */
export class FilterRegistry {
  readonly #backend: ReadBackend;
  readonly #limits: FilterLimits;
  readonly #nowMs: () => number;
  /** the one polled longest ago first */
  readonly #installed = new Map<string, Installed>();
  readonly #quota: FilterQuota;
  readonly #blocks: BlockJournal;
  readonly #transactions: ChangeJournal<Hex>;
  /** how many filters there are for pending transactions */
  #transactionFilters = 0;
  #feed: PendingFeed | undefined;
  /** set while there is a filter for pending transactions */
  #unfollow: (() => void) | undefined;

  constructor(backend: ReadBackend, limits: FilterLimits, nowMs: () => number) {
    this.#backend = backend;
    this.#limits = limits;
    this.#nowMs = nowMs;
    this.#quota = new FilterQuota(limits);
    this.#blocks = new BlockJournal(backend.chain, limits.maxJournalBytes);
    this.#transactions = new ChangeJournal(limits.maxJournalBytes);
  }

  /** The number of installed filters. */
  get count(): number {
    this.#forgetOld();
    return this.#installed.size;
  }

  /** Approximate size of the filters and of their unread events. */
  get bytes(): number {
    return this.#quota.bytes + this.#blocks.bytes + this.#transactions.bytes;
  }

  /** @param remoteAddress of the client, to bound what one may have. @throws {RpcError} there are too many filters */
  install(remoteAddress: string, kind: "blocks" | "transactions"): string;
  install(remoteAddress: string, kind: "logs", criteria: LogFilter): string;
  install(remoteAddress: string, kind: Filter["kind"], criteria?: LogFilter): string {
    this.#forgetOld();
    const filter: Filter = kind === "logs" ? { kind, criteria: criteria! } : { kind };
    const bytes = BYTES_PER_FILTER + BYTES_PER_VALUE * (criteria === undefined ? 0 : valuesOf(criteria));
    this.#quota.take(remoteAddress, bytes);
    const id = newFilterId(this.#limits.idTag ?? 0);
    const position = kind === "transactions" ? this.#transactions.end : this.#blocks.end;
    this.#installed.set(id, { filter, remoteAddress, bytes, position, lastPolledMs: this.#nowMs() });
    if (kind === "transactions") this.#transactionFilters++;
    this.#followIfWanted();
    return id;
  }

  uninstall(id: string): boolean {
    const installed = this.#installed.get(id);
    if (installed === undefined) return false;
    this.#installed.delete(id);
    this.#quota.giveBack(installed.remoteAddress, installed.bytes);
    if (installed.filter.kind === "transactions") this.#transactionFilters--;
    if (this.#transactionFilters === 0) this.#transactions.clear();
    if (this.#installed.size === this.#transactionFilters) this.#blocks.clear();
    this.#followIfWanted();
    return true;
  }

  /** The changes since the last poll. @throws {RpcError} filter not found */
  changes(id: string): readonly Hex[] | JsonText | Promise<JsonText> {
    const installed = this.#polled(id);
    const { filter, position } = installed;
    if (filter.kind === "transactions") {
      installed.position = this.#transactions.end;
      return this.#transactions.from(position) ?? this.#fallenBehind(id);
    }
    installed.position = this.#blocks.end;
    const blocks = this.#blocks.from(position) ?? this.#fallenBehind(id);
    if (filter.kind === "blocks") return blocks.flatMap(({ hash, removed }) => (removed === undefined ? [hash] : []));
    const reading = new LogChanges(this.#blocks, filter.criteria, blocks, position);
    return reading.step() ? tell(reading, installed) : tellLater(reading, installed);
  }

  /** All logs that match a log filter. @throws {RpcError} filter not found */
  logs(id: string): JsonText | Promise<JsonText> {
    const { filter } = this.#polled(id);
    if (filter.kind !== "logs") throw this.#notFound();
    const { criteria } = filter;
    const head = this.#backend.chain.head().number;
    // A filter may wait for future blocks: unlike that of a query, its range may lie beyond the head.
    if (isAfter(criteria.fromBlock, head)) return new JsonText("[]");
    const known = isAfter(criteria.toBlock, head) ? { ...criteria, toBlock: LATEST } : criteria;
    return queryLogs(this.#backend, UNLIMITED_WORK, known, this.#limits);
  }

  onHeadChange(change: HeadChange): void {
    this.#forgetOld();
    if (this.#installed.size > this.#transactionFilters) this.#blocks.push(change);
  }

  /** Sets the source of pending transactions, which is listened to while any filter wants them. */
  followPending(feed: PendingFeed): void {
    this.#feed = feed;
    this.#followIfWanted();
  }

  /** Settles once filters for pending transactions receive every transaction; undefined: they already do. */
  isFollowing(): Promise<void> | undefined {
    return this.#feed?.isListening?.();
  }

  #onPending(transactions: readonly PooledTransaction[]): void {
    for (const { hash } of transactions) this.#transactions.push(bytesToHex(hash), BYTES_PER_HASH);
  }

  #polled(id: string): Installed {
    this.#forgetOld();
    const installed = this.#installed.get(id);
    if (installed === undefined) throw this.#notFound();
    installed.lastPolledMs = this.#nowMs();
    this.#installed.delete(id);
    this.#installed.set(id, installed);
    return installed;
  }

  /** The journal has dropped entries that the filter has not read. @throws {RpcError} filter not found */
  #fallenBehind(id: string): never {
    this.uninstall(id);
    throw this.#notFound();
  }

  #notFound(): Error {
    return rpcErrorOf(this.#backend.profile.errors.filterNotFound);
  }

  #followIfWanted(): void {
    if (this.#transactionFilters === 0) {
      this.#unfollow?.();
      this.#unfollow = undefined;
    } else this.#unfollow ??= this.#feed?.onPending((transactions) => this.#onPending(transactions));
  }

  #forgetOld(): void {
    const oldestMs = this.#nowMs() - this.#limits.lifetimeMs;
    for (const [id, { lastPolledMs }] of this.#installed) {
      if (lastPolledMs >= oldestMs) return;
      this.uninstall(id);
    }
  }
}

function tell(reading: LogChanges, installed: Installed): JsonText {
  installed.position = Math.min(installed.position, reading.position);
  return reading.answer;
}

async function tellLater(reading: LogChanges, installed: Installed): Promise<JsonText> {
  do await setImmediate();
  while (!reading.step());
  return tell(reading, installed);
}

/** How many addresses and topics a filter looks for. */
const valuesOf = ({ addresses, topics }: LogFilter): number =>
  (addresses?.length ?? 0) + topics.reduce((count, position) => count + (position?.length ?? 0), 0);

/** Unguessable, 16 bytes: the first holds the tag and a bit that keeps it from being zero. */
const newFilterId = (tag: number): string => `0x${(0x80 + tag).toString(16)}${randomBytes(15).toString("hex")}`;

/** The tag of the registry that holds a filter; undefined: no registry holds it. */
export function tagOfFilterId(id: string): number | undefined {
  return /^0x[89a-f][0-9a-f]{31}$/.test(id) ? Number.parseInt(id.slice(2, 4), 16) - 0x80 : undefined;
}

const isAfter = (selector: BlockSelector | undefined, number: number): boolean =>
  selector?.kind === "number" && selector.number > number;

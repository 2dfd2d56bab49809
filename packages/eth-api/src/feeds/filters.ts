import { randomBytes } from "node:crypto";
import type { BlockSelector, HeadChange } from "@rnode/chain";
import { JsonText } from "@rnode/jsonrpc";
import { bytesToHex, LruCache } from "@rnode/primitives";
import type { PooledTransaction } from "@rnode/txpool";
import { type ReadBackend, rpcError } from "../backend/backend.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { logsOfBlock } from "../logs/log-match.ts";
import { type LogLimits, queryLogs } from "../logs/log-query.ts";
import { LATEST } from "../params/block-selector.ts";
import type { LogFilter } from "../params/log-filter.ts";
import type { PendingFeed } from "./subscriptions.ts";

type Filter =
  | { readonly kind: "logs"; readonly filter: LogFilter; pending: JsonObject[] }
  | { readonly kind: "blocks" | "transactions"; pending: string[] };

interface Installed {
  readonly filter: Filter;
  lastPolledMs: number;
}

export interface FilterLimits extends LogLimits {
  readonly maxFilters: number;
  /** a filter that has not been polled for this long is removed */
  readonly lifetimeMs: number;
  /** a filter with more pending changes than this is removed, too */
  readonly maxPending: number;
  /** 0 … 127: the start of every id, which shows others which of several registries a filter is in */
  readonly idTag?: number | undefined;
}

export const DEFAULT_FILTER_LIMITS = { maxFilters: 10_000, lifetimeMs: 5 * 60_000, maxPending: 100_000 } as const;

/** The filters that are polled: `eth_newFilter` and the related methods. They are kept in memory only, as in other clients. */
export class FilterRegistry {
  readonly #backend: ReadBackend;
  readonly #limits: FilterLimits;
  readonly #nowMs: () => number;
  readonly #installed: LruCache<string, Installed>;
  #feed: PendingFeed | undefined;
  /** set while there is a filter for pending transactions */
  #unfollow: (() => void) | undefined;

  constructor(backend: ReadBackend, limits: FilterLimits, nowMs: () => number) {
    this.#backend = backend;
    this.#limits = limits;
    this.#installed = new LruCache(limits.maxFilters);
    this.#nowMs = nowMs;
  }

  install(kind: "blocks" | "transactions"): string;
  install(kind: "logs", filter: LogFilter): string;
  install(kind: Filter["kind"], filter?: LogFilter): string {
    this.#forgetOld();
    const id = newFilterId(this.#limits.idTag ?? 0);
    const created: Filter = kind === "logs" ? { kind, filter: filter!, pending: [] } : { kind, pending: [] };
    this.#installed.set(id, { filter: created, lastPolledMs: this.#nowMs() });
    this.#followIfWanted();
    return id;
  }

  uninstall(id: string): boolean {
    const isRemoved = this.#installed.delete(id);
    this.#followIfWanted();
    return isRemoved;
  }

  /** What has changed since the last poll. @throws {RpcError} filter not found */
  changes(id: string): unknown[] {
    const { filter } = this.#polled(id);
    const { pending } = filter;
    filter.pending = [];
    return pending;
  }

  /** All logs that match a log filter. @throws {RpcError} filter not found */
  logs(id: string): JsonText | Promise<JsonText> {
    const { filter } = this.#polled(id);
    if (filter.kind !== "logs") throw rpcError(this.#backend.profile.errors.filterNotFound);
    const { filter: criteria } = filter;
    const head = this.#backend.chain.head().number;
    // A filter may wait for future blocks: unlike that of a query, its range may lie beyond the head.
    if (isAfter(criteria.fromBlock, head)) return new JsonText("[]");
    const known = isAfter(criteria.toBlock, head) ? { ...criteria, toBlock: LATEST } : criteria;
    return queryLogs(this.#backend, known, this.#limits);
  }

  onHeadChange({ removed, added }: HeadChange): void {
    this.#forgetOld();
    for (const { filter } of this.#installed.values()) {
      if (filter.kind === "blocks") filter.pending.push(...added.map(({ hash }) => bytesToHex(hash)));
      if (filter.kind !== "logs") continue;
      const { filter: criteria } = filter;
      for (const stored of removed) filter.pending.push(...logsOfBlock(stored, criteria, true));
      for (const stored of added) {
        if (isWithin(criteria, stored.block.header.number)) filter.pending.push(...logsOfBlock(stored, criteria));
      }
    }
    this.#forgetFull();
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
    for (const { filter } of this.#installed.values()) {
      if (filter.kind === "transactions") filter.pending.push(...transactions.map(({ hash }) => bytesToHex(hash)));
    }
    this.#forgetFull();
  }

  #polled(id: string): Installed {
    this.#forgetOld();
    const installed = this.#installed.get(id);
    if (installed === undefined) throw rpcError(this.#backend.profile.errors.filterNotFound);
    installed.lastPolledMs = this.#nowMs();
    return installed;
  }

  #followIfWanted(): void {
    const isWanted = [...this.#installed.values()].some(({ filter }) => filter.kind === "transactions");
    if (isWanted && this.#unfollow === undefined) {
      this.#unfollow = this.#feed?.onPending((transactions) => this.#onPending(transactions));
    } else if (!isWanted) {
      this.#unfollow?.();
      this.#unfollow = undefined;
    }
  }

  #forgetFull(): void {
    const before = this.#installed.size;
    for (const [id, { filter }] of this.#installed) if (filter.pending.length > this.#limits.maxPending) this.#installed.delete(id);
    if (this.#installed.size < before) this.#followIfWanted();
  }

  #forgetOld(): void {
    const oldestMs = this.#nowMs() - this.#limits.lifetimeMs;
    const before = this.#installed.size;
    for (const [id, { lastPolledMs }] of this.#installed) if (lastPolledMs < oldestMs) this.#installed.delete(id);
    if (this.#installed.size < before) this.#followIfWanted();
  }
}

/** Unguessable, 16 bytes: the first holds the tag and a bit that keeps it from being zero. */
const newFilterId = (tag: number): string => `0x${(0x80 + tag).toString(16)}${randomBytes(15).toString("hex")}`;

/** The tag of the registry that a filter is in; undefined: in none. */
export function tagOfFilterId(id: string): number | undefined {
  return /^0x[89a-f][0-9a-f]{31}$/.test(id) ? Number.parseInt(id.slice(2, 4), 16) - 0x80 : undefined;
}

const isAfter = (selector: BlockSelector | undefined, number: number): boolean =>
  selector?.kind === "number" && selector.number > number;

function isWithin({ fromBlock, toBlock }: LogFilter, number: number): boolean {
  if (fromBlock?.kind === "number" && number < fromBlock.number) return false;
  return !(toBlock?.kind === "number" && number > toBlock.number);
}

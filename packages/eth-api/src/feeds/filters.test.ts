import type { HeadChange, StoredBlock } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import type { PooledTransaction } from "@rnode/txpool";
import { describe, expect, it } from "vitest";
import type { ReadBackend } from "../backend/backend.ts";
import { PROFILE_G } from "../profile/profile-g.ts";
import { feeTransaction, storedBlock } from "../testing/blocks.ts";
import { DEFAULT_FILTER_LIMITS, type FilterLimits, FilterRegistry } from "./filters.ts";

const EMITTER = new Uint8Array(20).fill(0xe1);
const ANY = { addresses: undefined, topics: [], blockHash: undefined, fromBlock: undefined, toBlock: undefined };
const NOT_FOUND = expect.objectContaining({ code: -32000, message: "filter not found" });

const blockOf = (number: number): StoredBlock =>
  storedBlock([feeTransaction()], { number, logs: [[{ address: EMITTER, topics: [], data: Uint8Array.of(number) }]] });
const change = (added: StoredBlock[], removed: StoredBlock[] = []): HeadChange =>
  ({ head: added.at(-1)!, added, removed }) as HeadChange;
const pooled = (item: number): PooledTransaction => ({ hash: new Uint8Array(32).fill(item) }) as PooledTransaction;

function setUp(limits: Partial<FilterLimits> = {}) {
  let nowMs = 0;
  let listeners = 0;
  let tell: (transactions: readonly PooledTransaction[]) => void = () => {};
  const backend = { profile: PROFILE_G, chain: { head: () => ({ number: 0 }) } } as unknown as ReadBackend;
  const unlimited = { maxBlocks: Number.POSITIVE_INFINITY, maxLogs: Number.POSITIVE_INFINITY };
  const filters = new FilterRegistry(backend, { ...DEFAULT_FILTER_LIMITS, ...unlimited, ...limits }, () => nowMs);
  filters.followPending({
    onPending: (listener) => {
      listeners++;
      tell = listener;
      return () => void listeners--;
    },
  });
  return {
    filters,
    pass: (ms: number) => void (nowMs += ms),
    tell: (...list: PooledTransaction[]) => tell(list),
    listeners: () => listeners,
  };
}

describe("filters that are polled", () => {
  it("tell what came since the last poll, removed logs among it", () => {
    const { filters, tell } = setUp();
    const [blocks, logs, transactions] = [filters.install("blocks"), filters.install("logs", ANY), filters.install("transactions")];
    const [first, second] = [blockOf(1), blockOf(2)];
    filters.onHeadChange(change([first]));
    filters.onHeadChange(change([second], [first]));
    tell(pooled(7));
    expect(filters.changes(blocks)).toEqual([bytesToHex(first.hash), bytesToHex(second.hash)]);
    expect(filters.changes(logs)).toMatchObject([
      { data: "0x01", removed: false },
      { data: "0x01", removed: true },
      { data: "0x02", removed: false },
    ]);
    expect(filters.changes(transactions)).toEqual([`0x${"07".repeat(32)}`]);
    for (const id of [blocks, logs, transactions]) expect(filters.changes(id)).toEqual([]);
  });

  it("are forgotten when nobody polls them, when there are too many, and when they have too much to tell", () => {
    const { filters, pass, tell } = setUp({ maxFilters: 2, lifetimeMs: 100, maxPending: 3 });
    const kept = filters.install("blocks");
    const silent = filters.install("blocks");
    pass(60);
    expect(filters.changes(kept)).toEqual([]);
    pass(60);
    expect(filters.changes(kept)).toEqual([]);
    expect(() => filters.changes(silent)).toThrow(NOT_FOUND);
    const [a, b] = [filters.install("transactions"), filters.install("blocks")];
    expect(() => filters.changes(kept)).toThrow(NOT_FOUND);
    tell(pooled(1), pooled(2), pooled(3));
    tell(pooled(4));
    expect(() => filters.changes(a)).toThrow(NOT_FOUND);
    expect(filters.changes(b)).toEqual([]);
  });

  it("listen to the pool only while one wants to know", () => {
    const { filters, listeners } = setUp();
    expect(listeners()).toBe(0);
    const [first, second] = [filters.install("transactions"), filters.install("transactions")];
    expect(listeners()).toBe(1);
    expect(filters.uninstall(first)).toBe(true);
    expect(filters.uninstall(first)).toBe(false);
    expect(listeners()).toBe(1);
    filters.uninstall(second);
    expect(listeners()).toBe(0);
  });
});

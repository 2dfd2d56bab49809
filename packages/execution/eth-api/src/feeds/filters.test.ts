import type { HeadChange, StoredBlock } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import { partsOfBlock } from "@rnode/storage";
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
/** The returned changes, parsed. */
const told = async (changes: unknown): Promise<unknown> => JSON.parse(JSON.stringify(await changes));
const pooled = (item: number): PooledTransaction => ({ hash: new Uint8Array(32).fill(item) }) as PooledTransaction;

function setUp(limits: Partial<FilterLimits> = {}) {
  let nowMs = 0;
  let listeners = 0;
  let tell: (transactions: readonly PooledTransaction[]) => void = () => {};
  const canonical = new Map<string, StoredBlock>();
  const partsOf = ({ hash }: { hash: Uint8Array }) => {
    const block = canonical.get(bytesToHex(hash));
    return block && partsOfBlock(block);
  };
  const backend = { profile: PROFILE_G, chain: { head: () => ({ number: 0 }), partsOf } } as unknown as ReadBackend;
  const unlimited = { maxBlocks: Number.POSITIVE_INFINITY, maxLogs: Number.POSITIVE_INFINITY };
  const filters = new FilterRegistry(backend, { ...DEFAULT_FILTER_LIMITS, ...unlimited, ...limits }, () => nowMs);
  filters.followPending({
    onPending: (listener) => {
      listeners++;
      tell = listener;
      return () => void listeners--;
    },
  });
  /** The database changes first; the notification follows. */
  const commit = (added: StoredBlock[], removed: StoredBlock[] = []): (() => void) => {
    for (const { hash } of removed) canonical.delete(bytesToHex(hash));
    for (const stored of added) canonical.set(bytesToHex(stored.hash), stored);
    return () => filters.onHeadChange({ head: added.at(-1)!, added, removed } as unknown as HeadChange);
  };
  return {
    filters,
    commit,
    pass: (ms: number) => void (nowMs += ms),
    tell: (...list: PooledTransaction[]) => tell(list),
    listeners: () => listeners,
  };
}

describe("filters that are polled", () => {
  it("tell what came since the last poll, including removed logs", async () => {
    const { filters, tell, commit } = setUp();
    const blocks = filters.install("a", "blocks");
    const logs = filters.install("a", "logs", ANY);
    const transactions = filters.install("a", "transactions");
    const [first, second] = [blockOf(1), blockOf(2)];
    commit([first])();
    commit([second], [first])();
    tell(pooled(7));
    expect(filters.changes(blocks)).toEqual([bytesToHex(first.hash), bytesToHex(second.hash)]);
    expect(await told(filters.changes(logs))).toMatchObject([
      { data: "0x01", removed: false },
      { data: "0x01", removed: true },
      { data: "0x02", removed: false },
    ]);
    expect(filters.changes(transactions)).toEqual([`0x${"07".repeat(32)}`]);
    for (const id of [blocks, logs, transactions]) expect(await told(filters.changes(id))).toEqual([]);
  });

  it("wait with a block that has left the database until they are told so", async () => {
    const { filters, commit } = setUp();
    const logs = filters.install("a", "logs", ANY);
    const [first, second] = [blockOf(1), blockOf(2)];
    commit([first])();
    const tellReorganisation = commit([second], [first]);
    expect(await told(filters.changes(logs))).toEqual([]);
    tellReorganisation();
    expect(await told(filters.changes(logs))).toMatchObject([{ removed: false }, { removed: true }, { data: "0x02" }]);
  });

  it("are removed when nobody polls them, and when they are too far behind", () => {
    const { filters, pass, tell } = setUp({ lifetimeMs: 100, maxJournalBytes: 500 });
    const kept = filters.install("a", "transactions");
    const silent = filters.install("a", "blocks");
    pass(60);
    expect(filters.changes(kept)).toEqual([]);
    pass(60);
    expect(filters.changes(kept)).toEqual([]);
    expect(() => filters.changes(silent)).toThrow(NOT_FOUND);
    tell(pooled(1), pooled(2), pooled(3));
    expect(filters.changes(kept)).toHaveLength(3);
    tell(pooled(4), pooled(5), pooled(6), pooled(7), pooled(8));
    expect(() => filters.changes(kept)).toThrow(NOT_FOUND);
  });

  it("are refused beyond what an address may have, and beyond what all may have; nobody else's is removed", () => {
    const { filters } = setUp({ maxFilters: 8 });
    const install = (address: string) => filters.install(address, "blocks");
    const ids = ["a", "a", "b", "b"].map(install);
    const tooMany = (whose: string) => expect.objectContaining({ code: -32005, message: expect.stringMatching(whose) });
    expect(() => install("a")).toThrow(tooMany("this address has too many filters"));
    for (const address of ["c", "c", "d", "d"]) install(address);
    expect(() => install("e")).toThrow(tooMany("this node has too many filters"));
    for (const id of ids) expect(filters.changes(id)).toEqual([]);
    filters.uninstall(ids[0]!);
    expect(install("a")).toMatch(/^0x/);
  });

  it("are refused by what they look for", () => {
    const { filters } = setUp({ maxFilterBytes: 1024 * 1024 });
    const addresses = Array.from({ length: 1000 }, () => EMITTER);
    filters.install("a", "logs", { ...ANY, addresses });
    expect(() => filters.install("a", "logs", { ...ANY, addresses })).toThrow(expect.objectContaining({ code: -32005 }));
    filters.install("a", "logs", ANY);
  });

  it("listen to the pool only while one wants to know", () => {
    const { filters, listeners } = setUp();
    expect(listeners()).toBe(0);
    const [first, second] = [filters.install("a", "transactions"), filters.install("a", "transactions")];
    expect(listeners()).toBe(1);
    expect(filters.uninstall(first)).toBe(true);
    expect(filters.uninstall(first)).toBe(false);
    expect(listeners()).toBe(1);
    filters.uninstall(second);
    expect(listeners()).toBe(0);
  });
});

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RpcError } from "@rnode/jsonrpc";
import { silentLogger } from "@rnode/observe";
import { encodeMessageAccess } from "@rnode/protocol";
import { expect, it, onTestFinished } from "vitest";
import { hashOf, type SimContent, SimSetChain } from "../testing/sim-set.ts";
import { AccessListFilter, type SafetyLevel } from "./access-list-filter.ts";
import { CrossUnsafe } from "./cross-unsafe.ts";
import { SetDatabase } from "./set-database.ts";
import { setRules } from "./set-rules.ts";
import { SetVerifier } from "./set-verifier.ts";

const A = 901n;
const B = 902n;
const WINDOW = 40;
const L1 = { number: 1, hash: hashOf("l1") };
const NOTHING: SimContent = { logs: 0, executes: [] };

/** Two chains that begin at time 100, with blocks of two seconds and of one; Lagoon from 104 on. */
function makeSet() {
  const database = SetDatabase.open(mkdtempSync(join(tmpdir(), "filter-")), [A, B], silentLogger);
  onTestFinished(() => database.close());
  const a = new SimSetChain(A, { genesisSec: 100, blockTimeSec: 2, lagoonSec: 104 }, database);
  const b = new SimSetChain(B, { genesisSec: 100, blockTimeSec: 1, lagoonSec: 104 }, database);
  const chains = [a, b];
  const rules = setRules(chains, WINDOW);
  const crossUnsafe = new CrossUnsafe({ chains, rules, database, startSec: 104 });
  const verifier = new SetVerifier({
    chains,
    expiryWindowSec: WINDOW,
    database,
    checkL1: async () => "canonical",
    log: silentLogger,
  });
  return { a, b, database, crossUnsafe, verifier, filter: new AccessListFilter({ chains, rules, database, crossUnsafe }) };
}

const fill = (chain: SimSetChain, to: number, contents: Record<number, SimContent> = {}): void => {
  while (chain.length <= to) chain.say(contents[chain.length] ?? NOTHING, L1);
};
const keysOf = (chain: SimSetChain, number: number, logIndex: number, timestamp?: number): Uint8Array[] => {
  const { block, checksums } = chain.messagesAt(number);
  const place = { chainId: chain.chainId, blockNumber: BigInt(number), logIndex };
  return encodeMessageAccess({ ...place, timestamp: BigInt(timestamp ?? block.timestamp), checksum: checksums[logIndex]! });
};
type Set = ReturnType<typeof makeSet>;
const verdict = (
  { filter }: Set,
  keys: Uint8Array[],
  { level = "unsafe" as SafetyLevel, chainId = B as bigint | null, timestamp = 200, timeoutSec = 0 } = {},
): number | "valid" => {
  try {
    filter.check(keys, level, { chainId: chainId ?? undefined, timestamp, timeoutSec });
    return "valid";
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    return error.code;
  }
};

it("answers as far as the chains were read, with op-interop-filter's codes", async () => {
  const set = makeSet();
  const { a, b, crossUnsafe } = set;
  fill(a, 3);
  expect(verdict(set, [])).toBe("valid");
  fill(a, 5, { 4: { logs: 2, executes: [] }, 5: { logs: 1, executes: [] } });
  const keys = keysOf(a, 4, 1);
  expect(verdict(set, keys)).toBe(-320400);
  fill(b, 9);
  await crossUnsafe.advance();
  expect(crossUnsafe.readToTimestamp).toBe(109);
  expect(crossUnsafe.timestamp).toBe(109);
  const at = (timestamp: number, timeoutSec = 0) => verdict(set, keys, { timestamp, timeoutSec });
  expect([at(108), at(109), at(108 + WINDOW), at(109 + WINDOW)]).toEqual([-320600, "valid", "valid", -320600]);
  expect([at(120, WINDOW - 12), at(120, WINDOW - 11)]).toEqual(["valid", -320600]);
  const now = { timestamp: 120 };
  expect(verdict(set, keysOf(a, 5, 0), now)).toBe(-321100); // chain B is not there yet
  expect(verdict(set, keys, { ...now, chainId: null })).toBe(-320501);
  expect(verdict(set, keys, { ...now, chainId: 903n })).toBe(-320501);
  const [lookup, checksum] = keys as [Uint8Array, Uint8Array];
  const changed = (key: Uint8Array, index: number): Uint8Array => key.map((byte, i) => (i === index ? byte ^ 1 : byte));
  expect(verdict(set, [lookup], now)).toBe(-32602);
  expect(verdict(set, [changed(lookup, 11), checksum], now)).toBe(-320501); // chain 900
  expect(verdict(set, [changed(lookup, 31), checksum], now)).toBe(-320600); // log 0 has another checksum
  expect(verdict(set, [lookup, changed(checksum, 31)], now)).toBe(-320600);
  expect(verdict(set, [...keys, ...keysOf(a, 4, 0)], now)).toBe("valid");
  expect(verdict(set, [...keys, lookup, changed(checksum, 31)], now)).toBe(-320600);
});

it("knows the levels", async () => {
  const set = makeSet();
  fill(set.a, 6, { 4: { logs: 1, executes: [] } });
  fill(set.b, 12);
  await set.crossUnsafe.advance();
  const keys = keysOf(set.a, 4, 0);
  const levels = (): unknown[] =>
    (["unsafe", "cross-unsafe", "local-safe", "safe", "finalized"] as const).map((level) =>
      verdict(set, keys, { level, timestamp: 120 }),
    );
  expect(levels()).toEqual(["valid", "valid", "valid", -321100, -321100]);
  while ((await set.verifier.round()).kind === "verified");
  expect(levels()).toEqual(["valid", "valid", "valid", "valid", -321100]);
});

it("refuses everything while an unsafe block has an invalid message, or an operator says so", async () => {
  const set = makeSet();
  fill(set.a, 6, { 4: { logs: 1, executes: [] } });
  const missing = { chainId: A, number: 4, logIndex: 1, timestamp: 108 };
  fill(set.b, 11, { 11: { logs: 0, executes: [missing] } });
  fill(set.b, 12);
  await set.crossUnsafe.advance();
  expect(set.crossUnsafe.timestamp).toBe(110);
  expect(set.filter.failsafe).toEqual([
    `chain 902 has an invalid message in unsafe block 11 ${set.b.messagesAt(11).block.hash}: message of log 0: chain 901 has no such log at block 4, index 1, time 108`,
  ]);
  const keys = keysOf(set.a, 4, 0);
  expect(verdict(set, keys, { timestamp: 120 })).toBe(-320602);
  for (let round = 0; round < 50; round++) await set.verifier.round(); // denies it, and goes on
  await set.crossUnsafe.advance();
  expect(set.filter.failsafe).toEqual([]);
  expect(verdict(set, keys, { timestamp: 120 })).toBe("valid");
  set.filter.isStopped = true;
  expect(verdict(set, keys, { timestamp: 120 })).toBe(-320602);
});

it("forgets the messages of blocks that the chain left", async () => {
  const set = makeSet();
  fill(set.a, 6, { 4: { logs: 1, executes: [] } });
  fill(set.b, 12);
  await set.crossUnsafe.advance();
  const keys = keysOf(set.a, 4, 0);
  set.a.takeBack(4);
  await set.crossUnsafe.advance();
  expect(verdict(set, keys, { timestamp: 120 })).toBe(-321100);
  fill(set.a, 6);
  await set.crossUnsafe.advance();
  expect(set.crossUnsafe.timestamp).toBe(112);
  expect(verdict(set, keys, { timestamp: 120 })).toBe(-320600);
});

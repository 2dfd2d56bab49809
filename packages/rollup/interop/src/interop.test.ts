import { bigintToBytes, concatBytes, keccak256 } from "@rnode/primitives";
import { type Log, messageHash, PREDEPLOYS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { type BlockMessages, messagesOfBlock } from "./block-messages.ts";
import { checkBlocks } from "./check-blocks.ts";
import { type ExecutingMessage, executingMessageOf } from "./executing-message.ts";
import { chainsInCycles } from "./message-cycles.ts";
import { checkMessage, type MessageLookup, type SetRules } from "./message-rules.ts";

const A = 901n;
const B = 902n;
const WINDOW = 604_800;
const ACTIVATION = 1_000;
const rules: SetRules = {
  chains: new Map([
    [A, { activationSec: ACTIVATION, blockTimeSec: 2 }],
    [B, { activationSec: ACTIVATION, blockTimeSec: 1 }],
  ]),
  expiryWindowSec: WINDOW,
};
const origin = new Uint8Array(20).fill(7);
const initiating: Log = { address: origin, topics: [new Uint8Array(32).fill(1)], data: Uint8Array.of(5) };
const EVENT = keccak256(new TextEncoder().encode("ExecutingMessage(bytes32,(address,uint256,uint256,uint256,uint256))"));

interface Place {
  readonly chainId: bigint;
  readonly number: bigint;
  readonly index: bigint;
  readonly time: bigint;
}

const executingLog = (log: Log, { chainId, number, index, time }: Place): Log => ({
  address: PREDEPLOYS.crossL2Inbox,
  topics: [EVENT, messageHash(log)],
  data: concatBytes(new Uint8Array(12), log.address, ...[number, index, time, chainId].map((word) => bigintToBytes(word, 32))),
});
const blockAt = (number: number, timestamp: number) => ({ number, timestamp, hash: "0x1", parentHash: "0x0" }) as const;

describe("the messages of a block", () => {
  it("are its logs by index over all receipts; an executed one has the checksum of the log that it names", () => {
    const first = messagesOfBlock(A, blockAt(10, 1_010), [
      { logs: [initiating] },
      { logs: [] },
      { logs: [initiating, initiating] },
    ]);
    expect(first.checksums).toHaveLength(3);
    const place = { chainId: A, number: 10n, index: 2n, time: 1_010n };
    const second = messagesOfBlock(B, blockAt(5, 1_010), [{ logs: [initiating] }, { logs: [executingLog(initiating, place)] }]);
    expect(second.executing).toEqual([
      { executingLogIndex: 1, chainId: A, blockNumber: 10n, logIndex: 2, timestamp: 1_010n, checksum: first.checksums[2] },
    ]);
    expect(second.executing[0]!.checksum).not.toEqual(first.checksums[1]);
  });

  const good = executingLog(initiating, { chainId: A, number: 10n, index: 2n, time: 1_010n });
  const changed = (at: number): Log => ({ ...good, data: good.data.map((byte, i) => (i === at ? 1 : byte)) });
  it.each<[string, Log]>([
    ["another contract", { ...good, address: origin }],
    ["another event", { ...good, topics: [new Uint8Array(32), good.topics[1]!] }],
    ["one topic", { ...good, topics: [EVENT] }],
    ["three topics", { ...good, topics: [...good.topics, EVENT] }],
    ["a byte less", { ...good, data: good.data.subarray(1) }],
    ["an origin of 21 bytes", changed(11)],
    ["a block number of 65 bits", changed(32 + 23)],
    ["a log index of 33 bits", changed(64 + 27)],
    ["a time of 65 bits", changed(96 + 23)],
  ])("are none in a log with %s", (_, log) => {
    expect(executingMessageOf(good, 0)).toBeDefined();
    expect(executingMessageOf(log, 0)).toBeUndefined();
  });

  it("can name a chain id of 256 bits", () => {
    const wide = (1n << 255n) + 3n;
    expect(executingMessageOf(executingLog(initiating, { chainId: wide, number: 1n, index: 0n, time: 1n }), 0)?.chainId).toBe(wide);
  });
});

const message = (change: Partial<ExecutingMessage> = {}): ExecutingMessage => ({
  executingLogIndex: 0,
  chainId: A,
  blockNumber: 10n,
  logIndex: 0,
  timestamp: 2_000n,
  checksum: new Uint8Array(32),
  ...change,
});
const exists: MessageLookup = () => "exists";

describe("a message is valid", () => {
  it.each<[string, Partial<ExecutingMessage>, number, bigint]>([
    ["at one time with its log", {}, 2_000, B],
    ["in its own chain", {}, 2_000, A],
    ["at the last second of the window", {}, 2_000 + WINDOW, B],
    ["from the second block of its chain on", { timestamp: BigInt(ACTIVATION + 2) }, 2_000, B],
    ["in the second block of its chain", { timestamp: BigInt(ACTIVATION + 1), chainId: B }, ACTIVATION + 1, B],
  ])("%s", (_, change, timestamp, chainId) => {
    expect(checkMessage(rules, { chainId, timestamp }, message(change), exists)).toEqual({ kind: "valid" });
  });
});

describe("a message is invalid", () => {
  it.each<[string, Partial<ExecutingMessage>, number, bigint, string]>([
    ["of a chain outside of the set", { chainId: 5n }, 2_000, B, "chain 5 is not in the dependency set"],
    ["in a chain outside of the set", {}, 2_000, 5n, "chain 5 is not in the dependency set"],
    ["a second after the window", {}, 2_001 + WINDOW, B, `expired: ${WINDOW + 1} s old, at most ${WINDOW}`],
    ["before its log", {}, 1_999, B, "initiated at 2000, after its execution at 1999"],
    ["of the activation block", { timestamp: BigInt(ACTIVATION) }, 2_000, B, "too early for chain 901"],
    ["between activation and second block", { timestamp: BigInt(ACTIVATION + 1) }, 2_000, B, "too early for chain 901"],
    ["in the activation block", { timestamp: 5n }, ACTIVATION, B, "too early for chain 902"],
    ["with a time beyond all", { timestamp: (1n << 64n) - 1n }, 2_000, B, "after its execution"],
  ])("%s", (_, change, timestamp, chainId, reason) => {
    const verdict = checkMessage(rules, { chainId, timestamp }, message(change), exists);
    expect(verdict).toEqual({ kind: "invalid", reason: expect.stringContaining(reason) });
  });

  it("without its log", () => {
    const verdict = checkMessage(rules, { chainId: B, timestamp: 2_000 }, message(), () => "missing");
    expect(verdict).toMatchObject({
      kind: "invalid",
      reason: expect.stringContaining("no such log at block 10, index 0, time 2000"),
    });
  });

  it("is not the word for a log that nobody has looked at", () => {
    const verdict = checkMessage(rules, { chainId: B, timestamp: 2_000 }, message(), () => "unknown");
    expect(verdict).toEqual({ kind: "unknown", chainId: A, blockNumber: 10n });
  });
});

const T = 5_000;
const blockOf = (
  ...executing: readonly (readonly [at: number, chainId: bigint, logIndex: number, timestamp?: number])[]
): BlockMessages => ({
  block: blockAt(1, T),
  checksums: [],
  executing: executing.map(([executingLogIndex, chainId, logIndex, timestamp = T]) =>
    message({ executingLogIndex, chainId, logIndex, timestamp: BigInt(timestamp) }),
  ),
});
const cycles = (blocks: Record<string, BlockMessages>): string[] =>
  [...chainsInCycles(T, new Map(Object.entries(blocks).map(([id, block]) => [BigInt(id), block])))].map(String).sort();

describe("messages of one time", () => {
  it.each<[string, Record<string, BlockMessages>, string[]]>([
    ["one", { 1: blockOf([0, 2n, 0]), 2: blockOf() }, []],
    ["two that name logs before each other's", { 1: blockOf([1, 2n, 0]), 2: blockOf([1, 1n, 0]) }, []],
    ["two that name each other", { 1: blockOf([0, 2n, 0]), 2: blockOf([0, 1n, 0]) }, ["1", "2"]],
    ["two that name logs after each other's", { 1: blockOf([0, 2n, 3]), 2: blockOf([0, 1n, 3]) }, ["1", "2"]],
    ["one that names itself", { 1: blockOf([4, 1n, 4]) }, ["1"]],
    ["one that names a later log of its block", { 1: blockOf([4, 1n, 5]) }, ["1"]],
    ["one that names an earlier log of its block", { 1: blockOf([4, 1n, 3]) }, []],
    ["three in a ring", { 1: blockOf([0, 2n, 0]), 2: blockOf([0, 3n, 0]), 3: blockOf([0, 1n, 0]) }, ["1", "2", "3"]],
    ["a ring, and one that depends on it", { 1: blockOf([0, 2n, 0]), 2: blockOf([0, 1n, 0]), 3: blockOf([0, 1n, 0]) }, ["1", "2"]],
    [
      "a ring that depends on a third",
      { 1: blockOf([0, 3n, 0], [1, 2n, 0]), 2: blockOf([0, 1n, 1]), 3: blockOf([0, 4n, 0]), 4: blockOf() },
      ["1", "2", "3"],
    ],
    ["a ring of which one is older", { 1: blockOf([0, 2n, 0, T - 1]), 2: blockOf([0, 1n, 0]) }, []],
  ])("%s", (_, blocks, expected) => {
    expect(cycles(blocks)).toEqual(expected);
  });

  it("remain where each has another that depends on it, however they are taken away", () => {
    let state = 7;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    let inCycle = 0;
    for (let round = 0; round < 2_000; round++) {
      const chains = 2 + random(3);
      const blocks = new Map<bigint, BlockMessages>();
      for (let chain = 1; chain <= chains; chain++) {
        const at = [0, 1, 2, 3, 4].filter(() => random(3) === 0);
        blocks.set(BigInt(chain), blockOf(...at.map((index) => [index, BigInt(1 + random(chains)), random(5)] as const)));
      }
      // the model: look again and again for a message that none of those left depends on
      let left = [...blocks].flatMap(([chainId, { executing }]) => executing.map((one) => ({ chainId, one })));
      const dependsOn = (from: (typeof left)[number], to: (typeof left)[number]): boolean => {
        const own = blocks.get(from.chainId)!.executing;
        const before = own[own.indexOf(from.one) - 1];
        const named = blocks
          .get(from.one.chainId)
          ?.executing.filter((other) => other.executingLogIndex <= from.one.logIndex)
          .at(-1);
        return to.one === before || to.one === named;
      };
      for (;;) {
        const kept = left.filter((to) => left.some((from) => dependsOn(from, to)));
        if (kept.length === left.length) break;
        left = kept;
      }
      const expected = new Set(left.map(({ chainId }) => chainId));
      expect(chainsInCycles(T, blocks)).toEqual(expected);
      if (expected.size > 0) inCycle++;
    }
    expect(inCycle).toBeGreaterThan(200);
  });
});

describe("the blocks of a set at one time", () => {
  it("are invalid by their first invalid message, or by a cycle", () => {
    const blocks = new Map([
      [A, { ...blockOf([0, B, 9], [1, 77n, 0]), block: blockAt(1, T) }],
      [B, blockOf()],
    ]);
    const verdict = checkBlocks(rules, T, blocks, exists);
    expect(verdict).toEqual({
      kind: "checked",
      invalid: new Map([[A, "message of log 1: chain 77 is not in the dependency set"]]),
    });
    const ring = new Map([
      [A, blockOf([0, B, 0])],
      [B, blockOf([0, A, 0])],
    ]);
    const both = checkBlocks(rules, T, ring, exists);
    expect(both.kind === "checked" ? [...both.invalid.keys()] : []).toEqual([A, B]);
    expect(checkBlocks(rules, T, ring, () => "unknown")).toMatchObject({ kind: "unknown", chainId: B });
  });
});

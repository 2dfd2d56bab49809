import type { ExtendResult, ForcedBlock, ForkchoiceState, PreparedBlock } from "@rnode/chain";
import { PROFILE_R } from "@rnode/eth-api";
import { bytesToHex, ZERO_HASH } from "@rnode/primitives";
import type { PayloadAttributes, Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { buildBlocks } from "./build-blocks.ts";

const HEAD = new Uint8Array(32).fill(0xaa);
const STATE: ForkchoiceState = { headBlockHash: HEAD, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH };
const wanted = (count: number): PayloadAttributes[] =>
  Array.from({ length: count }, (_, index) => ({ timestamp: index, noTxPool: true }) as PayloadAttributes);
const hashOf = (number: number): Uint8Array => Uint8Array.of(...new Uint8Array(28), 1, 0, number >> 8, number & 0xff);

/** Blocks are numbered by their timestamps, and each takes `msPerBlock`. */
function harness(msPerBlock: number) {
  const state = { nowMs: 0, refused: -1, movedAt: -1 };
  const steps: { readonly on: string; readonly blocks: number[]; readonly limitMs: number }[] = [];
  const recoveries: { readonly count: number; readonly isWaiting: boolean | undefined; readonly afterSteps: number }[] = [];
  const heads = {
    extend({ headBlockHash }: ForkchoiceState, blocks: readonly ForcedBlock[], limitMs: number): ExtendResult {
      const untilMs = state.nowMs + limitMs;
      const built: number[] = [];
      const on = bytesToHex(headBlockHash);
      steps.push({ on, blocks: built, limitMs });
      if (steps.length - 1 === state.movedAt) return { kind: "invalid-state", reason: "reorganisation-too-deep" };
      const status = { status: "VALID", latestValidHash: on } as const;
      const made = (): readonly PreparedBlock[] =>
        built.map((number) => ({ hash: hashOf(number), encodedHeader: hashOf(number) }) as unknown as PreparedBlock);
      for (const { attributes } of blocks) {
        if (attributes.timestamp === state.refused) {
          const refusal = { fault: "transaction-invalid", reason: "transaction 1 is not valid" } as const;
          return { kind: "extended", status, blocks: made(), refusal };
        }
        state.nowMs += msPerBlock;
        built.push(attributes.timestamp);
        if (state.nowMs >= untilMs) break;
      }
      return { kind: "extended", status, blocks: made(), refusal: undefined };
    },
  };
  const senders = {
    async recoverAhead(transactions: readonly Transaction[], isWaiting?: boolean) {
      recoveries.push({ count: transactions.length, isWaiting, afterSteps: steps.length });
      return [];
    },
    remember: () => {},
  };
  const run = async (attributes: readonly PayloadAttributes[]) =>
    (await buildBlocks(STATE, attributes, { heads, profile: PROFILE_R, senders, nowMs: () => state.nowMs })) as {
      readonly headers: readonly string[];
      readonly refusal: { readonly code: number } | null;
    };
  return { run, steps, recoveries, state };
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

describe("buildBlocks", () => {
  it("builds all blocks in steps, each on the one before, and recovers only the senders of the next step ahead", async () => {
    const { run, steps, recoveries } = harness(1);
    const { headers, refusal } = await run(wanted(200));
    expect([headers.length, refusal]).toEqual([200, null]);
    expect(steps.map(({ blocks }) => blocks.length)).toEqual([32, 64, 64, 40]);
    expect(steps.map(({ on }) => on)).toEqual([HEAD, hashOf(31), hashOf(95), hashOf(159)].map(bytesToHex));
    expect(recoveries.map(({ isWaiting, afterSteps }) => [isWaiting, afterSteps])).toEqual([
      [true, 0],
      [false, 0],
      [false, 1],
      [false, 2],
      [false, 3],
    ]);
  });

  it("gives others their turn in the middle of a step that takes long, and goes on with its rest", async () => {
    const { run, steps } = harness(20);
    const { headers } = await run(wanted(60));
    expect(headers).toHaveLength(60);
    expect(steps.flatMap(({ blocks }) => blocks)).toEqual(numbers(0, 60));
    expect(Math.max(...steps.map(({ blocks }) => blocks.length))).toBe(15); // 300 ms
  });

  it("answers what there is when the request has taken its time", async () => {
    const { run, steps } = harness(20);
    const { headers, refusal } = await run(wanted(300));
    expect([headers.length, refusal]).toEqual([75, null]); // 1.5 s
    expect(steps.every(({ limitMs }) => limitMs <= 300)).toBe(true);
  });

  it("builds nothing after a block that is refused, in whatever step", async () => {
    const { run, state, steps } = harness(1);
    state.refused = 40;
    const { headers, refusal } = await run(wanted(200));
    expect(headers).toHaveLength(40);
    expect(refusal).toMatchObject({ code: -38_003 });
    expect(steps.flatMap(({ blocks }) => blocks)).toEqual(numbers(0, 40));
  });

  it("stops where somebody else has moved the head between two steps", async () => {
    const { run, state, steps } = harness(1);
    state.movedAt = 1;
    const { headers, refusal } = await run(wanted(200));
    expect([headers.length, refusal, steps.length]).toEqual([32, null, 2]);
  });
});

import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { runStateTests } from "./state-test.ts";
import { traceStateTestCase } from "./state-test-trace.ts";

const SENDER = `0x${"5e".repeat(20)}`;
const OUTER = `0x${"aa".repeat(20)}`;
const INNER = `0x${"bb".repeat(20)}`;

/** Calls INNER with 1000 gas, which reverts; drops the result; stores 1. */
const OUTER_CODE = `0x${"6000".repeat(5)}73${"bb".repeat(20)}6103e8f150600160005500`;
/** Reverts with nothing. */
const INNER_CODE = "0x60006000fd";

/** A test vector with wrong hashes. */
function vector(code: string): string {
  const account = (fields: object) => ({ balance: "0x0", nonce: "0x0", code: "0x", storage: {}, ...fields });
  return JSON.stringify({
    doctored: {
      env: {
        currentCoinbase: `0x${"c0".repeat(20)}`,
        currentNumber: "0x1",
        currentTimestamp: "0x1",
        currentGasLimit: "0x5f5e100",
        currentBaseFee: "0x7",
        currentDifficulty: "0x0",
        currentRandom: "0x0",
        currentExcessBlobGas: "0x0",
      },
      pre: {
        [SENDER]: account({ balance: "0xde0b6b3a7640000" }),
        [OUTER]: account({ code }),
        [INNER]: account({ code: INNER_CODE }),
      },
      transaction: {
        data: ["0x"],
        gasLimit: ["0x186a0"],
        value: ["0x0"],
        nonce: "0x0",
        to: OUTER,
        gasPrice: "0xa",
        sender: SENDER,
      },
      post: {
        Cancun: [{ hash: `0x${"11".repeat(32)}`, logs: `0x${"22".repeat(32)}`, indexes: { data: 0, gas: 0, value: 0 } }],
      },
    },
  });
}

interface Line {
  readonly pc: number;
  readonly op: number;
  readonly depth: number;
  readonly gas: string;
  readonly gasCost: string;
  readonly stack: readonly string[];
  readonly error?: string;
}

describe("a state test that fails", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "state-test-trace-"));
  });

  async function traceOf(code: string): Promise<{ first: object; steps: Line[]; last: object }> {
    const file = join(folder, "doctored.json");
    writeFileSync(file, vector(code));
    const { passed, failures, failedCases } = await runStateTests([file], { jobs: 1 });
    expect(passed).toBe(0);
    expect(failures[0]).toMatch(/^doctored \[Cancun 0\]: state root 0x[0-9a-f]{64}, expected 0x1111/);
    expect(failedCases).toEqual([{ file, testName: "doctored", forkName: "Cancun", index: 0 }]);
    const lines = traceStateTestCase(failedCases[0]!).map((line) => JSON.parse(line) as object);
    return { first: lines[0]!, steps: lines.slice(1, -1) as Line[], last: lines.at(-1)! };
  }

  it("is run again with all its steps and their costs", async () => {
    const { first, steps, last } = await traceOf(OUTER_CODE);
    expect(first).toMatchObject({ test: "doctored", fork: "Cancun", index: 0 });
    expect(last).toMatchObject({ pass: false, error: expect.stringContaining("state root") as string });
    const brief = steps.map(({ pc, op, depth, gas, gasCost }) => [pc, op, depth, Number(gas), Number(gasCost)]);
    const gasAtStart = 100_000 - 21_000;
    const beforeCall = gasAtStart - 7 * 3;
    // a cold account, and the 1000 gas that are passed on, all of which is returned except for the two pushes
    const afterCall = beforeCall - 2600 - 6;
    expect(brief).toEqual([
      ...[0, 2, 4, 6, 8].map((pc, index) => [pc, 0x60, 1, gasAtStart - 3 * index, 3]),
      [10, 0x73, 1, gasAtStart - 15, 3],
      [31, 0x61, 1, gasAtStart - 18, 3],
      [34, 0xf1, 1, beforeCall, 2600 + 1000],
      [0, 0x60, 2, 1000, 3],
      [2, 0x60, 2, 997, 3],
      [4, 0xfd, 2, 994, 0],
      [35, 0x50, 1, afterCall, 2],
      [36, 0x60, 1, afterCall - 2, 3],
      [38, 0x60, 1, afterCall - 5, 3],
      [40, 0x55, 1, afterCall - 8, 22_100],
      [41, 0x00, 1, afterCall - 8 - 22_100, 0],
    ]);
    expect(steps.find(({ op }) => op === 0x55)?.stack).toEqual(["0x1", "0x0"]);
  });

  it("shows which step failed", async () => {
    const { steps } = await traceOf("0x600156");
    expect(steps.map(({ error }) => error)).toEqual([undefined, "invalid-jump"]);
  });
});

import { newEngine } from "@rnode/chain";
import { beforeAll, describe, expect, it } from "vitest";
import type { Oracle } from "./differential.ts";
import { FUZZ_FORKS } from "./fuzz-case.ts";
import { generateCase } from "./generate.ts";
import { fuzz, loadOracle } from "./run-fuzz.ts";

const engine = newEngine();
const RUNS_OF_A_FORK = 5;
const forever = { isTimeOver: () => false };

describe("our engine and @ethereumjs/evm", () => {
  let oracle: Oracle;
  beforeAll(async () => {
    oracle = await loadOracle();
  });

  it.each(FUZZ_FORKS)("agree on generated programs on %s", async (fork) => {
    const report = await fuzz(engine, oracle, { seed: 40, runs: RUNS_OF_A_FORK, fork, ...forever });
    expect(report.failure?.join("\n")).toBeUndefined();
    expect(report.done).toBe(RUNS_OF_A_FORK);
  });

  it("agree on a block that has too little gas left for its second transaction", async () => {
    const { failure } = await fuzz(engine, oracle, { seed: 50_010_541, runs: 1, fork: undefined, ...forever });
    expect(failure?.join("\n")).toBeUndefined();
  });

  it("a difference is reported with its seed and the first step that differs", async () => {
    const liar: Oracle = async (fuzzCase, onStep) => {
      const outcome = await oracle(fuzzCase, (step) => onStep?.(step.pc === 0 ? { ...step, gas: step.gas + 1n } : step));
      const transactions = outcome.transactions.map((effect) =>
        effect.kind === "included" ? { ...effect, gasUsed: effect.gasUsed + 1n } : effect,
      );
      return { ...outcome, transactions };
    };
    const report = await fuzz(engine, liar, { seed: 1, runs: 20, fork: undefined, ...forever });
    const text = report.failure?.join("\n") ?? "";
    expect(text).toContain("--seed=");
    expect(text).toMatch(/ours {3}.* gas (\d+)/);
    expect(text).toContain("first difference at step 0");
  });
});

it("a seed gives the same case every time", () => {
  expect(generateCase(7)).toEqual(generateCase(7));
  expect(generateCase(7)).not.toEqual(generateCase(8));
});

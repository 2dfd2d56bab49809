import { newEngine } from "@rnode/chain";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { beforeAll, describe, expect, it } from "vitest";
import { compareCase, type Oracle } from "./differential.ts";
import { FUZZ_FORKS, type FuzzAccount } from "./fuzz-case.ts";
import { generateCase } from "./generate.ts";
import { runOurs } from "./our-engine.ts";
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

  it("agree on code that begins with 0xef00, which is no format of its own in any of these forks", async () => {
    const { failure } = await fuzz(engine, oracle, { seed: 100_001_370, runs: 1, fork: undefined, ...forever });
    expect(failure?.join("\n")).toBeUndefined();

    const fuzzCase = generateCase(1, "osaka");
    const [account] = fuzzCase.accounts;
    const [transaction] = fuzzCase.transactions;
    const other = "77".repeat(20);
    // size, hash and content of the other's code go into the storage; then its code is init code for CREATE2 and for CREATE
    const code = `0x73${other}3b60005573${other}3f60015560056000600073${other}3c6000516002556000600560006000f5600355600560006000f060045500`;
    const accounts: FuzzAccount[] = [
      { ...account!, address: fuzzCase.sender, nonce: 0n, balance: 10n ** 24n, code: new Uint8Array(), storage: [] },
      { ...account!, address: hexToBytes(`0x${other}`), code: hexToBytes("0xef00aabbcc"), storage: [] },
      { ...account!, address: new Uint8Array(20).fill(0x78), code: hexToBytes(code), storage: [] },
    ];
    const call = { ...transaction!, to: accounts[2]!.address, data: new Uint8Array(), value: 0n, gasLimit: 16_000_000n };
    const environment = { ...fuzzCase.environment, gasLimit: 30_000_000n };
    const only = {
      ...call,
      authorizations: undefined,
      blobs: undefined,
      maxFeePerGas: environment.baseFeePerGas,
      maxPriorityFeePerGas: 0n,
    };
    const made = { ...fuzzCase, environment, accounts, transactions: [only] };
    expect(await compareCase(engine, oracle, made)).toEqual([]);
    const { transactions, state } = runOurs(engine, made);
    expect(transactions).toMatchObject([{ kind: "included", status: 1 }]);
    expect(state.get(bytesToHex(accounts[2]!.address))).toContain(`=0x${"5".padStart(64, "0")}`);
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

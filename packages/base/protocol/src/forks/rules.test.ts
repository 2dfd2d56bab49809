import { describe, expect, it } from "vitest";
import { EVM_FORKS, type EvmFork, evmForkFacts } from "./evm-forks.ts";
import { forksBeginningAt, forksUpTo, lastDerivationFacts, userTransactionsAt } from "./fork-times.ts";
import { forkFacts, OP_FORKS, type OpFork } from "./op-forks.ts";
import { derivationFacts, evmForkOf, type ForkRules, forkRules, rollupRules } from "./rules.ts";

describe("rules of a block", () => {
  it.each<[OpFork, EvmFork, Partial<ForkRules>]>([
    [
      "bedrock",
      "paris",
      { acceptsDeposits: true, acceptsBlobs: false, hasFreeSystemTransactions: true, extraDataVersion: undefined },
    ],
    ["delta", "shanghai", { receiptsHaveDepositVersion: true, hasP256Precompile: false, lastPrecompile: 9 }],
    ["ecotone", "cancun", { hasBlobGas: true, acceptsBlobs: false, l1FeeCountsBlobs: true, lastPrecompile: 10 }],
    ["fjord", "cancun", { hasP256Precompile: true, p256Gas: 3450n, l1FeeEstimatesCompression: true }],
    ["holocene", "cancun", { extraDataVersion: 0, maxBn254PairingBytes: 112_687, hasOperatorFee: false }],
    ["jovian", "prague", { extraDataVersion: 1, maxBn254PairingBytes: 81_984, hasDaFootprint: true, hasOperatorFee: true }],
    ["karst", "osaka", { p256Gas: 6900n, maxBn254PairingBytes: 57_600, maxBlsPairingBytes: 156_672, acceptsBlobs: false }],
  ])("of %s are those of %s and what the rollup changes", (op, evm, expected) => {
    expect(evmForkOf(op)).toBe(evm);
    expect(rollupRules(op)).toMatchObject({ op, evm, ...expected });
  });

  it("of an Ethereum chain have nothing of a rollup's", () => {
    expect(forkRules("osaka")).toMatchObject({
      op: undefined,
      acceptsDeposits: false,
      acceptsBlobs: true,
      hasOperatorFee: false,
      maxBn254PairingBytes: Number.POSITIVE_INFINITY,
      maxBlockRlpBytes: 8_388_608,
    });
  });

  it("are resolved once", () => {
    expect(rollupRules("jovian")).toBe(forkRules("prague", "jovian"));
  });
});

describe("a row of the tables", () => {
  const repeated = (changes: object, before: object): string[] =>
    Object.entries(changes).flatMap(([rule, value]) => (before[rule as keyof typeof before] === value ? [rule] : []));

  it.each(EVM_FORKS.slice(1))("of %s repeats nothing of the fork before", (fork) => {
    const before = EVM_FORKS[EVM_FORKS.indexOf(fork) - 1]!;
    expect(repeated(evmForkFacts(fork).changes, forkRules(before))).toEqual([]);
  });

  it.each(OP_FORKS.slice(1))("of %s repeats nothing of the fork before", (fork) => {
    const before = OP_FORKS[OP_FORKS.indexOf(fork) - 1]!;
    const { evm, blocks, derivation } = forkFacts(fork);
    expect(evm).not.toBe(evmForkOf(before));
    expect(repeated(blocks, rollupRules(before))).toEqual([]);
    expect(repeated(derivation, derivationFacts(before))).toEqual([]);
  });

  it("has keys and option names of its own", () => {
    for (const key of ["title", "rollupKey", "genesisKey", "override"] as const) {
      const given = OP_FORKS.map((fork) => forkFacts(fork)[key]).filter((value) => value !== undefined);
      expect(new Set(given).size).toBe(given.length);
    }
  });
});

describe("first blocks", () => {
  const forkTimes = {
    regolith: 0,
    canyon: 0,
    delta: 0,
    ecotone: 100,
    fjord: 200,
    granite: 200,
    holocene: 300,
    isthmus: 300,
    jovian: 300,
  };

  it.each<[number, OpFork[], ReturnType<typeof userTransactionsAt>]>([
    [98, [], "allowed"],
    [100, ["ecotone"], "omitted"],
    [101, ["ecotone"], "omitted"], // between two blocks
    [102, [], "allowed"],
    [200, ["fjord", "granite"], "omitted"],
    [300, ["holocene", "isthmus", "jovian"], "forbidden"],
    [302, [], "allowed"],
  ])("at %i", (time, forks, userTransactions) => {
    expect(forksBeginningAt(forkTimes, time, time - 2)).toEqual(forks);
    expect(userTransactionsAt(forkTimes, time, time - 2)).toBe(userTransactions);
  });

  it("are not those of a chain that starts with the fork", () => {
    expect(forksBeginningAt(forksUpTo("jovian"), 2, 0)).toEqual([]);
  });
});

it("what is only scheduled counts for what must hold later", () => {
  expect(lastDerivationFacts({ granite: 1_000_000 }).channelTimeoutL1Blocks).toBe(50);
  expect(lastDerivationFacts({ fjord: 0 }).channelTimeoutL1Blocks).toBeUndefined();
});

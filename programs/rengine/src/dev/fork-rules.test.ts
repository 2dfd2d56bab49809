import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hexToBytes } from "@rnode/primitives";
import { activeOpFork, blockRules, type ChainConfig, type Header, NETWORKS, OP_FORKS, rollupRules } from "@rnode/protocol";
import { beforeAll, describe, expect, it } from "vitest";
import { buildPackage } from "../testing/built-package.ts";
import { type DevClient, startDevTestClient } from "../testing/dev-client.ts";
import { startFork } from "../testing/fork-process.ts";
import { rulesOfFork } from "./fork-rules.ts";

const WORD = new Uint8Array(32);
/** A block of this time, in the form of a fork. */
function headerOf(timestamp: number, fork: (typeof OP_FORKS)[number] = "jovian"): Header {
  const { hasWithdrawals, hasBeaconRoot, hasExecutionRequests, extraDataVersion } = rollupRules(fork);
  const extraData = { 0: "0x00000000fa00000006", 1: "0x01000000fa000000060000000000000000" } as const;
  return {
    number: 5,
    timestamp,
    difficulty: 0n,
    extraData: hexToBytes(extraDataVersion === undefined ? "0x" : extraData[extraDataVersion]),
    ...(hasWithdrawals && { withdrawalsRoot: WORD }),
    ...(hasBeaconRoot && { parentBeaconBlockRoot: WORD, excessBlobGas: 0n }),
    ...(hasExecutionRequests && { requestsHash: WORD }),
  } as Header;
}

describe("the rules of a forked chain", () => {
  const warnings: unknown[] = [];
  const find = (chainId: bigint, header: Header, hasL1Block: boolean, given = "") =>
    rulesOfFork(
      { chainId, header, hasL1Block: () => hasL1Block, given, isReset: false },
      { warn: (...args) => warnings.push(args) },
    );
  const forkAt = ({ optimism }: ChainConfig, timestamp: number) => activeOpFork(optimism!.forkTimes, timestamp);
  const LATER = 4_000_000_000;

  it("each network of the table keeps the fork that its block has, at each of its activations", async () => {
    warnings.length = 0;
    for (const { l2ChainId, forkTimes, blockTimeSec } of NETWORKS) {
      for (const [fork, time] of Object.entries(forkTimes)) {
        if (time === undefined || time === 0) continue;
        for (const timestamp of [time - 1, time]) {
          const { config, ...rest } = await find(BigInt(l2ChainId), headerOf(timestamp), true);
          expect(forkAt(config!, LATER), `${l2ChainId} ${fork}`).toBe(activeOpFork({ regolith: 0, ...forkTimes }, timestamp));
          expect(blockRules(config!, { number: 1, timestamp: LATER }).evm).toBe(
            rollupRules(activeOpFork({ regolith: 0, ...forkTimes }, timestamp)).evm,
          );
          expect(rest.blockTimeSec).toBe(blockTimeSec);
        }
      }
    }
    expect(warnings).toEqual([]);
  });

  it.each(OP_FORKS)("of an unknown OP Stack chain have the form of its block: %s", async (fork) => {
    warnings.length = 0;
    const { config, blockTimeSec } = await find(77n, headerOf(1_000, fork), true);
    const found = rollupRules(forkAt(config!, LATER));
    const { hasWithdrawals, hasBeaconRoot, hasExecutionRequests, extraDataVersion } = rollupRules(fork);
    expect(found).toMatchObject({ hasWithdrawals, hasBeaconRoot, hasExecutionRequests, extraDataVersion });
    expect(OP_FORKS.indexOf(found.op!)).toBeGreaterThanOrEqual(Math.min(OP_FORKS.indexOf(fork), OP_FORKS.indexOf("karst")));
    expect(found.op).not.toBe("lagoon");
    expect(blockTimeSec).toBe(2);
    expect(warnings).toHaveLength(1);
  });

  it("say of Base that it follows its own", async () => {
    warnings.length = 0;
    await find(8453n, headerOf(1_790_000_000), true);
    expect(JSON.stringify(warnings)).toMatch(/follows Base's own protocol/);
  });

  it("of Ethereum's chains are by time, and of others without blobs have none", async () => {
    const mainnet = (await find(1n, headerOf(1_700_000_000), false)).config!;
    expect(blockRules(mainnet, { number: 19_000_000, timestamp: 1_700_000_000, isPostMerge: true }).evm).toBe("shanghai");
    expect(blockRules(mainnet, { number: 19_000_000, timestamp: LATER, isPostMerge: true }).evm).not.toBe("shanghai");
    for (const [form, evm] of [
      ["canyon", "shanghai"],
      ["regolith", "paris"],
    ] as const) {
      const { config } = await find(78n, headerOf(1_000, form), false);
      expect(blockRules(config!, { number: 6, timestamp: LATER, isPostMerge: true }).evm).toBe(evm);
    }
    expect(await find(78n, headerOf(1_000, "ecotone"), false)).toEqual({ config: undefined });
  });
});

describe("a fork of an Ethereum block without blobs", () => {
  const folder = mkdtempSync(join(tmpdir(), "rnode-old-"));
  const genesis = (chainId: number, times: object): string => {
    const blocks = ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul", "berlin"];
    const path = join(folder, `${chainId}.json`);
    const forks = Object.fromEntries([...blocks, "london"].map((name) => [`${name}Block`, 0]));
    writeFileSync(
      path,
      JSON.stringify({
        config: { chainId, ...forks, terminalTotalDifficulty: 0, ...times },
        timestamp: "0x65000000",
        gasLimit: "0x1c9c380",
        difficulty: "0x0",
        baseFeePerGas: "0x3b9aca00",
        alloc: {},
      }),
    );
    return path;
  };
  let origin: DevClient | undefined;
  beforeAll(buildPackage);

  it.each([
    ["with withdrawals", 4_242, { shanghaiTime: 0 }],
    ["without", 4_243, {}],
  ])("%s goes on with such blocks", { tags: "long" }, async (_name, chainId, times) => {
    origin = await startDevTestClient(`--chain=${genesis(chainId, times)}`);
    await origin.rpc.call("anvil_mine", ["0x3"]);
    const fork = await startFork(`--fork-url=${origin.url}`);
    try {
      const [from] = await fork.rpc.call<string[]>("eth_accounts", []);
      const hash = await fork.rpc.call("eth_sendTransaction", [{ from, to: `0x${"0b".repeat(20)}`, value: "0x5" }]);
      expect(await fork.rpc.call("eth_getTransactionReceipt", [hash])).toMatchObject({ status: "0x1", blockNumber: "0x4" });
      const block = await fork.rpc.call<Record<string, unknown>>("eth_getBlockByNumber", ["latest", false]);
      const before = await origin.rpc.call<Record<string, unknown>>("eth_getBlockByNumber", ["latest", false]);
      expect(Object.keys(block).sort()).toEqual(Object.keys(before).sort());
    } finally {
      await fork.stop();
      await origin.close();
    }
  });
});

import { JOVIAN_CONFIG } from "@rnode/eth-api/testing";
import type { Hex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { clientsOfTest, OTHER } from "../testing/clients-of-test.ts";
import { RICH_ADDRESS } from "../testing/test-client.ts";

const { start } = clientsOfTest();

const L1_PRAGUE = {
  chainId: 1337,
  ...Object.fromEntries(
    ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul", "berlin", "london"].map(
      (fork) => [`${fork}Block`, 0],
    ),
  ),
  terminalTotalDifficulty: 0,
  shanghaiTime: 0,
  cancunTime: 0,
  pragueTime: 0,
  blobSchedule: { cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3_338_477 } },
};
const CHAINS = {
  "OP Stack before Karst": [JOVIAN_CONFIG, undefined],
  "OP Stack with Karst": [{ ...JOVIAN_CONFIG, karstTime: 0 }, 16_777_216],
  "OP Stack that will have Karst": [{ ...JOVIAN_CONFIG, karstTime: 2_000_000_000 }, undefined],
  "Ethereum before Osaka": [L1_PRAGUE, undefined],
  "Ethereum with Osaka": [{ ...L1_PRAGUE, osakaTime: 0 }, 16_777_216],
} as const;
const BLOCK_LIMIT = 30_000_000;

/** PUSH4 gas GAS GT PUSH1 14 JUMPI JUMPDEST PUSH1 10 JUMP JUMPDEST STOP: stops if more gas is left, and otherwise never ends. */
const needs = (gas: number): Hex => `0x63${gas.toString(16).padStart(8, "0")}5a11600e575b600a565b00`;

describe.each(["R", "G"] as const)("the most that eth_estimateGas tries, profile %s", (profile) => {
  it.each(Object.entries(CHAINS))("%s", async (_, [config, cap]) => {
    const node = await start([`--profile=${profile}`], undefined, { config });
    const estimate = (code: string, fields: object = {}) =>
      node.rpc
        .call<string>("eth_estimateGas", [{ from: RICH_ADDRESS, to: OTHER, ...fields }, "latest", { [OTHER]: { code } }])
        .then(
          (gas) => Number(gas),
          ({ code: number, message }: { code: number; message: string }) => [number, message],
        );
    const allowance = (gas: number) => [-32000, `gas required exceeds allowance (${gas})`];
    const endless = needs(1e9);
    expect(await estimate(endless)).toEqual(allowance(cap ?? BLOCK_LIMIT));
    expect(await estimate(endless, { gas: "0x1312d00" })).toEqual(allowance(cap ?? 20_000_000));
    expect(await estimate(endless, { gas: "0x989680" })).toEqual(allowance(10_000_000));
    const almost = await estimate(needs(16_600_000));
    expect(almost).toBeGreaterThan(16_600_000);
    expect(almost).toBeLessThanOrEqual(cap ?? 17_000_000);
    const more = await estimate(needs(17_000_000));
    if (cap === undefined) expect(more).toBeGreaterThan(17_000_000);
    else expect(more).toEqual(allowance(cap));
  });

  it("is at most --rpc.gascap", async () => {
    const node = await start([`--profile=${profile}`, "--rpc.gascap=1000000"]);
    const call = { from: RICH_ADDRESS, to: OTHER, gas: "0x1312d00" };
    await expect(node.rpc.call("eth_estimateGas", [call, "latest", { [OTHER]: { code: needs(1e9) } }])).rejects.toMatchObject({
      code: -32000,
      message: "gas required exceeds allowance (1000000)",
    });
  });
});

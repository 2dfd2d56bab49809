import { dependencySetFromJson, parseChainConfig, rollupConfigFromJson } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { devAccounts, devRoles } from "../accounts.ts";
import { loadContracts } from "../l1/contracts.ts";
import { l1ChainConfig } from "../l1/l1-chain-config.ts";
import { planL1Deployment } from "../l1/l1-contracts.ts";
import { DEFAULT_PARAMETERS, l2ForkTimes, needsDependencySet } from "../parameters.ts";
import { l2ChainConfig } from "./l2-genesis.ts";
import { dependencySet, rollupConfig } from "./rollup-config.ts";

describe("the files for the programs", () => {
  const roles = devRoles(devAccounts(5));
  const l1 = planL1Deployment(loadContracts(), roles, DEFAULT_PARAMETERS).addresses;

  it("has a rollup config that rnode accepts, all forks at genesis", () => {
    const l1Genesis = { hash: `0x${"11".repeat(32)}`, number: 2, timestampSec: 1_700_000_000 } as const;
    const json = rollupConfig(DEFAULT_PARAMETERS, roles, l1, l1Genesis, `0x${"22".repeat(32)}`);
    const config = rollupConfigFromJson(JSON.parse(JSON.stringify(json)), { unknownKeys: "refuse" });
    expect(config.l2ChainId).toBe(901n);
    expect(config.genesis.systemConfig.scalar[0]).toBe(1);
    expect(config.forkTimes).toEqual(l2ForkTimes(DEFAULT_PARAMETERS, 1_700_000_000));
    expect(config.forkTimes.jovian).toBe(0);
    expect(config.lagoonPreliminary).toBeUndefined();
    const withLagoon = { ...DEFAULT_PARAMETERS, forkDelaysSec: { karst: 2, lagoon: 4 } };
    expect(rollupConfig(withLagoon, roles, l1, l1Genesis, `0x${"22".repeat(32)}`)).toMatchObject({ lagoon_preliminary: true });
  });

  it("has a dependency set if a fork needs one, with this chain in it", () => {
    const at = (delay: number) => ({ ...DEFAULT_PARAMETERS, forkDelaysSec: { karst: 2, lagoon: delay } });
    expect([DEFAULT_PARAMETERS, at(4), at(0)].map(needsDependencySet)).toEqual([false, true, true]);
    expect(dependencySetFromJson(dependencySet(at(4))).chainIds).toEqual([901n]);
    expect(dependencySetFromJson(dependencySet({ ...at(4), otherChains: [902] })).chainIds).toEqual([901n, 902n]);
    const forks = l2ChainConfig(at(4), 1_700_000_000) as Record<string, unknown>;
    expect(forks.lagoonTime).toBe(1_700_000_004);
    expect(Object.keys(forks)).not.toContain("interopTime");
  });

  it("has chain configs that rengine and rnode accept", () => {
    const l2 = parseChainConfig(l2ChainConfig(DEFAULT_PARAMETERS, 1_700_000_000));
    expect(l2.optimism?.forkTimes.jovian).toBe(0);
    expect(l2.optimism?.eip1559DenominatorCanyon).toBe(250);
    const l1Config = parseChainConfig(l1ChainConfig(DEFAULT_PARAMETERS));
    expect(l1Config.evmForkTimes.prague).toBe(0);
    expect(l1Config.blobSchedule.at(-1)?.params.baseFeeUpdateFraction).toBe(5_007_716n);
  });
});

import type { L2Block } from "@rnode/node-clients";
import { rollupConfigOfNetwork, UPGRADE_ARTIFACTS, type UpgradeArtifact } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { wantUpgrades } from "./upgrades.ts";

const { karstBundle, lagoonBundle, preliminaryLagoonBundle } = UPGRADE_ARTIFACTS;

describe("the files of upgrades that are ahead", () => {
  const config = rollupConfigOfNetwork("op-sepolia");
  it.each([
    ["of a public network", config, -1, [karstBundle, lagoonBundle]],
    ["after Karst", config, 0, [lagoonBundle]],
    ["of a chain with the contracts of before", { ...config, lagoonPreliminary: true }, 0, [preliminaryLagoonBundle]],
  ])("are fetched: %s", async (_, rollup, afterKarstSec, expected) => {
    const safe = { ref: { timestamp: config.forkTimes.karst! + afterKarstSec } } as L2Block;
    const wanted: UpgradeArtifact[] = [];
    await wantUpgrades({ want: (files) => wanted.push(...files) }, rollup, { blockByLabel: async () => safe });
    expect(wanted).toEqual(expected);
  });
});

import type { L2Block } from "@rnode/node-clients";
import { networkByName, rollupConfigOfNetwork, UPGRADE_ARTIFACTS, type UpgradeArtifact } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../testing/recording-logger.ts";
import { upgradeSourceFor, wantUpgrades } from "./upgrades.ts";

const bytes = Uint8Array.of(1);
const DERIVING = { derives: true, sequences: false };
const { karstBundle, lagoonBundle } = UPGRADE_ARTIFACTS;

describe("the files of upgrades", () => {
  it.each(["op-sepolia", "unichain-mainnet"])("of %s lack the contracts that this version does not know, which is said", (name) => {
    const { log, logs } = recordingLogger();
    const source = upgradeSourceFor(rollupConfigOfNetwork(name), () => bytes, DERIVING, log)!;
    expect(source(karstBundle.hash, karstBundle)).toBe(bytes);
    expect(() => source(lagoonBundle.hash, lagoonBundle)).toThrow(
      `this version does not know the contracts that ${name} deploys in its next fork (lagoon_nut_bundle.json `,
    );
    expect(logs).toMatchObject([{ level: "warn", fields: { network: name } }]);
  });

  it("of other chains are what the operator has", () => {
    const { log, logs } = recordingLogger();
    const config = rollupConfigOfNetwork("op-sepolia");
    const source = upgradeSourceFor({ ...config, l2ChainId: 901n }, () => bytes, DERIVING, log)!;
    expect(source(lagoonBundle.hash, lagoonBundle)).toBe(bytes);
    const zora = networkByName("zora-mainnet")!.name;
    expect(
      upgradeSourceFor(rollupConfigOfNetwork(zora), undefined, DERIVING, log)?.(karstBundle.hash, karstBundle),
    ).toBeUndefined();
    expect(logs).toEqual([]);
  });

  it.each([
    [DERIVING, "the safe head will stop at its first block"],
    [{ derives: true, sequences: true }, "the safe head will stop at its first block"],
    [{ derives: false, sequences: true }, "this sequencer cannot build its first block"],
    [{ derives: false, sequences: false }, "in light mode it follows its source past it"],
  ])("that are not known stop what uses them: %o", (uses, words) => {
    const { log, logs } = recordingLogger();
    upgradeSourceFor(rollupConfigOfNetwork("op-sepolia"), undefined, uses, log);
    expect(logs[0]!.fields!.remedy).toContain(words);
  });

  it.each([
    ["a public network fetches", undefined, [karstBundle]],
    ["another chain fetches", 901n, [karstBundle, lagoonBundle]],
  ])("that are ahead, %s without those that it never uses", async (_, l2ChainId, expected) => {
    const config = rollupConfigOfNetwork("op-sepolia");
    const beforeKarst = { ref: { timestamp: config.forkTimes.karst! - 1 } } as L2Block;
    const wanted: UpgradeArtifact[] = [];
    const rollup = { ...config, l2ChainId: l2ChainId ?? config.l2ChainId };
    await wantUpgrades({ want: (files) => wanted.push(...files) }, rollup, { blockByLabel: async () => beforeKarst });
    expect(wanted).toEqual(expected);
  });
});

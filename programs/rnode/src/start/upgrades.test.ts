import { networkByName, rollupConfigOfNetwork, UPGRADE_ARTIFACTS } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { recordingLogger } from "../testing/recording-logger.ts";
import { upgradeSourceFor } from "./upgrades.ts";

const bytes = Uint8Array.of(1);
const { karstBundle, lagoonBundle } = UPGRADE_ARTIFACTS;

describe("the files of upgrades", () => {
  it.each(["op-sepolia", "unichain-mainnet"])("of %s lack the contracts that this version does not know, which is said", (name) => {
    const { log, logs } = recordingLogger();
    const source = upgradeSourceFor(rollupConfigOfNetwork(name), () => bytes, log)!;
    expect(source(karstBundle.hash, karstBundle)).toBe(bytes);
    expect(() => source(lagoonBundle.hash, lagoonBundle)).toThrow(
      `this version does not know the contracts that ${name} deploys in its next fork (lagoon_nut_bundle.json `,
    );
    expect(logs).toMatchObject([{ level: "warn", fields: { network: name } }]);
  });

  it("of other chains are what the operator has", () => {
    const { log, logs } = recordingLogger();
    const config = rollupConfigOfNetwork("op-sepolia");
    const source = upgradeSourceFor({ ...config, l2ChainId: 901n }, () => bytes, log)!;
    expect(source(lagoonBundle.hash, lagoonBundle)).toBe(bytes);
    const zora = networkByName("zora-mainnet")!.name;
    expect(upgradeSourceFor(rollupConfigOfNetwork(zora), undefined, log)?.(karstBundle.hash, karstBundle)).toBeUndefined();
    expect(logs).toEqual([]);
  });
});

import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { bytesToHex } from "@rnode/primitives";
import { CREATE2_DEPLOYER_ADDRESS } from "@rnode/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PreparedBlock } from "../prepared-block.ts";
import { build, type DevChain, devConfig, openDevChain, produce } from "../testing/dev-chain.ts";
import { CREATE2_DEPLOYER } from "./create2-deployer.ts";

/** Canyon starts with the second block. */
function canyonConfig() {
  const config = devConfig("regolith");
  return { ...config, optimism: { ...config.optimism!, forkTimes: { regolith: 0, canyon: 1004 } } };
}

let dev: DevChain | undefined;
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnode-upgrades-"));
});
afterEach(async () => {
  await dev?.remove();
});

describe("Canyon's first block", () => {
  it.each<[string, (() => void) | undefined]>([
    ["no folder", undefined],
    ["an empty folder", () => {}],
    ["other bytecode", () => writeFileSync(join(folder, CREATE2_DEPLOYER.file), "0x6000")],
  ])("cannot be built with %s: the error names the file and the hash", (_, prepare) => {
    prepare?.();
    dev = openDevChain("regolith", { config: canyonConfig(), options: { upgradesDir: prepare && folder } });
    produce(dev, 1);
    const canyon = { ...dev, fork: "canyon" as const };
    expect(() => build(canyon, 2)).toThrow(/^canyon-create2deployer\.txt is not in the folder .*keccak256 0xb0550b5b/);
    expect(dev.chain.head().number).toBe(1);
  });

  const vectors = process.env.RNODE_VECTORS ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../../../../../shared/vectors");
  const genesisFile = join(vectors, "genesis", "mainnet-ink.json.gz"); // a chain that began with Canyon has the code in its allocations
  if (!existsSync(genesisFile)) console.warn("not run: Canyon's create2deployer (no vectors folder; set RNODE_VECTORS)");

  it.skipIf(!existsSync(genesisFile))(
    "gives the deployer its code, on the node that builds and on the one that checks",
    async () => {
      const { alloc } = JSON.parse(gunzipSync(readFileSync(genesisFile)).toString()) as {
        alloc: Record<string, { code?: string }>;
      };
      const address = bytesToHex(CREATE2_DEPLOYER_ADDRESS).slice(2);
      const [, account] = Object.entries(alloc).find(([key]) => key.toLowerCase().endsWith(address))!;
      writeFileSync(join(folder, "any-name.hex"), account.code!);
      const given = { config: canyonConfig(), options: { upgradesDir: folder } };
      dev = openDevChain("regolith", given);
      const other = openDevChain("regolith", given);
      try {
        for (const [number, fork] of [
          [1, "regolith"],
          [2, "canyon"],
          [3, "canyon"],
        ] as const) {
          const { block } = produce({ ...dev, fork }, number);
          expect(other.chain.newPayload(new PreparedBlock(block)).status).toBe("VALID");
          const code = dev.chain.stateAt(dev.chain.head())!.readAccount(CREATE2_DEPLOYER_ADDRESS);
          expect(code === undefined ? undefined : bytesToHex(code.codeHash)).toBe(number === 1 ? undefined : CREATE2_DEPLOYER.hash);
        }
      } finally {
        await other.remove();
      }
    },
  );
});

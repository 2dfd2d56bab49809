import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadUpgradeArtifact, type UpgradeArtifact, upgradeArtifactsFromFiles } from "@rnode/protocol";

/**
 * The code that Canyon's first block gives to CREATE2_DEPLOYER_ADDRESS (runtime code, not creation code). Chains that start with Canyon
 * have it in their genesis and need no file. Spec: docs/protocol/01-execution.md#before-and-after-the-transactions
 */
export const CREATE2_DEPLOYER: UpgradeArtifact = {
  file: "canyon-create2deployer.txt",
  hashFunction: "keccak256",
  hash: "0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2",
  length: 1584,
};

/**
 * Reads the code on demand.
 *
 * @param upgradesDir the folder of upgrade bundles (`--rollup.upgrades-dir`); undefined: none was given
 * @returns a function that throws upgrade/missing-artifact, naming the file and the hash, or upgrade/wrong-artifact
 */
export function create2DeployerCodeFrom(upgradesDir: string | undefined): () => Uint8Array {
  return () => {
    const files = upgradesDir === undefined ? [] : readdirSync(upgradesDir);
    const contents = files
      .filter((name) => /\.(?:txt|hex)$/.test(name))
      .map((name) => ({ name, content: readFileSync(join(upgradesDir!, name)) }));
    return loadUpgradeArtifact(CREATE2_DEPLOYER, upgradeArtifactsFromFiles(contents));
  };
}

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadUpgradeArtifact, upgradeArtifactsFromFiles } from "@rnode/protocol";
import { CREATE2_DEPLOYER } from "./create2-deployer.ts";

/**
 * Reads the code on demand.
 *
 * @param upgradesDir the folder of upgrade bundles (`--rollup.upgrades-dir`); undefined: not configured
 * @returns a function that throws upgrade/missing-artifact, naming the file and the hash, or upgrade/wrong-artifact
 */
export function create2DeployerCodeFrom(upgradesDir: string | undefined): () => Uint8Array {
  return () => {
    const files = upgradesDir === undefined || !existsSync(upgradesDir) ? [] : readdirSync(upgradesDir);
    const contents = files
      .filter((name) => /\.(?:txt|hex)$/.test(name))
      .map((name) => ({ name, content: readFileSync(join(upgradesDir!, name)) }));
    return loadUpgradeArtifact(CREATE2_DEPLOYER, upgradeArtifactsFromFiles(contents));
  };
}

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/** The program as users start it. */
export const PROGRAM = join(PACKAGE, "bin/rengine.js");

/** Builds the package where it is not up to date: processes that tests start run what is built. */
export function buildPackage(): void {
  const { error } = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (error !== undefined) throw error;
}

import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/** The program as users start it. */
export const PROGRAM = join(PACKAGE, "bin/rengine.js");

/** Builds the package where it is not up to date: processes that tests start run what is built. @throws what the compiler says */
export function buildPackage(): void {
  const { error, status, stdout } = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (error !== undefined) throw error;
  // What is built is not what the tests were made from.
  if (status !== 0) throw new Error(`packages/execution-client cannot be built:\n${stdout}`);
}

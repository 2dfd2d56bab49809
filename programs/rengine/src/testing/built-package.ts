import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));

/** The program that users start. */
export const PROGRAM = join(PACKAGE, "bin/rengine.js");

let isBuilt = false;

/** Builds the package if it is not up to date: processes started by tests run the build. @throws the compiler's output */
export function buildPackage(): void {
  if (isBuilt) return;
  const { error, status, stdout } = spawnSync(join(PACKAGE, "../../node_modules/.bin/tsc"), ["-b", PACKAGE], { encoding: "utf8" });
  if (error !== undefined) throw error;
  // The build would not match the sources under test.
  if (status !== 0) throw new Error(`programs/rengine cannot be built:\n${stdout}`);
  isBuilt = true;
}

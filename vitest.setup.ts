import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

// Each test file has a temporary folder of its own, which is removed after the file: a test makes folders below `tmpdir()` and leaves them.
// RNODE_E2E_KEEP=1 keeps them.
process.env.RNODE_OUTER_TMPDIR ??= tmpdir();
const folder = mkdtempSync(join(process.env.RNODE_OUTER_TMPDIR, "rnode-test-"));
process.env.TMPDIR = folder;

const remove = (): void => {
  if (process.env.RNODE_E2E_KEEP === undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
process.once("exit", remove); // hooks of a file whose tests are all skipped do not run
afterAll(() => {
  process.off("exit", remove);
  remove();
});

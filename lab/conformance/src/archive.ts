import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The content of an archive in a temporary folder. */
export interface Unpacked {
  readonly folder: string;
  remove(): void;
}

/** Unpacks a `.tar.xz`. @throws Error that names the missing program, or quotes `tar` */
export function unpackArchive(path: string): Unpacked {
  for (const program of ["tar", "xz"]) {
    if (spawnSync(program, ["--version"], { stdio: "ignore" }).error !== undefined) {
      throw new Error(`${path}: unpacking it needs the program ${program} (Debian: apt-get install tar xz-utils)`);
    }
  }
  const folder = mkdtempSync(join(tmpdir(), "rnode-vectors-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const result = spawnSync("tar", ["-xJf", path, "-C", folder], { encoding: "utf8" });
  if (result.status !== 0) {
    remove();
    throw new Error(`${path}: tar failed: ${result.stderr.trim() || `exit code ${result.status}`}`);
  }
  return { folder, remove };
}

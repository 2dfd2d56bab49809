import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const vectors = process.env.RNODE_VECTORS ?? resolve(dirname(fileURLToPath(import.meta.url)), "../../../../../../shared/vectors");
const fixtures = join(vectors, "op-reth");
/** Of the largest fixture, an archive of 7 MiB. */
const MAX_BYTES = 64 << 20;

/** Folders in the archives by their names, each with 380 blocks of the same chain. */
export const OP_RETH_FOLDERS = { v1: "v1", v2: "v2", v2pipe: "pipe", pruned: "pruned" } as const;
export type OpRethFixture = keyof typeof OP_RETH_FOLDERS;

/** Whether the data directories made by op-reth are on this machine; prints a line if not. */
export function hasOpRethFixtures(what: string): boolean {
  const isThere = existsSync(fixtures);
  if (!isThere) console.warn(`not run: ${what} (no vectors folder; set RNODE_VECTORS)`);
  return isThere;
}

/** The archive of a data directory. */
export const opRethArchive = (name: OpRethFixture): string => join(fixtures, `opreth-${name}-380.tar.zst`);

/** Unpacks a data directory below `tmpdir()`. @returns its folder */
export async function unpackOpReth(name: OpRethFixture): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "rnode-op-reth-"));
  const archive = join(folder, "archive.tar");
  writeFileSync(archive, await readOpRethFixture(`opreth-${name}-380.tar.zst`));
  mkdirSync(join(folder, "data"));
  const tar = spawnSync("tar", ["-xf", archive, "-C", join(folder, "data")], { encoding: "utf8" });
  if (tar.status !== 0) throw new Error(`tar failed: ${tar.error?.message ?? tar.stderr}`);
  return join(folder, "data", OP_RETH_FOLDERS[name]);
}

/** A process of its own, because a process may initialize the library only once, and the program under test does. */
const UNZSTD = fileURLToPath(new URL("../../test-programs/unzstd.mjs", import.meta.url));

/** A file of the fixtures, decompressed if its name ends in `.zst`. */
export async function readOpRethFixture(name: string): Promise<Uint8Array> {
  const path = join(fixtures, name);
  if (!name.endsWith(".zst")) return readFileSync(path);
  const args = [UNZSTD, path, String(MAX_BYTES)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { encoding: "buffer", maxBuffer: MAX_BYTES });
  return stdout;
}

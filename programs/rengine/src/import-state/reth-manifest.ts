import { dirname, join } from "node:path";
import { UserError } from "@rnode/program";
import { isUrl } from "../setup/read-input.ts";

/** What `op-reth download` reads: archives of the parts of a data directory, each with its name or URL. */
export interface RethManifest {
  readonly chainId: bigint;
  /** of the state and of the newest headers: names or URLs, the first that exists is the archive */
  readonly archives: readonly (readonly string[])[];
}

type Json = Readonly<Record<string, unknown>>;

/** The storage version of the archives that are read. */
const STORAGE_VERSIONS = new Set<unknown>([1, 2, "1", "2", "v1", "v2"]);

/**
 * Reads a manifest of archives. Forms of its components: `{file}` or `{url}`, one archive; `{blocks_per_file, total_blocks}`, an archive for so many
 * blocks each, named `NAME-FIRST-LAST.tar.zst` or listed in `chunk_files`. Only the state and the newest headers are taken.
 *
 * @param source path or URL of the manifest, which the names are relative to unless it has a `base_url`
 * @throws {UserError}
 */
export function readRethManifest(source: string, json: unknown): RethManifest {
  const refuse = (reason: string): UserError => new UserError(`--from: ${source}: ${reason}`);
  const manifest = json as Json;
  const { chain_id: chainId, storage_version: version, base_url: baseUrl } = manifest;
  if (!Number.isSafeInteger(chainId)) throw refuse("the manifest has no chain_id");
  if (version !== undefined && !STORAGE_VERSIONS.has(version))
    throw refuse(`the manifest's storage_version is ${JSON.stringify(version)}; this program reads 1 and 2`);
  const base = typeof baseUrl === "string" && baseUrl !== "" ? baseUrl.replace(/\/+$/, "") : undefined;
  const components = (manifest.components ?? {}) as Readonly<Record<string, Json | undefined>>;
  const archives = ["state", "headers"].map((name) => {
    const component = components[name];
    if (component === undefined) throw refuse(`the manifest has no ${name}, without which there is no state: take another archive`);
    const files = filesOf(name, component);
    if (files.length === 0) throw refuse(`the manifest names no archive of its ${name}`);
    return files.map((file) => placeOf(file, source, base));
  });
  return { chainId: BigInt(chainId as number), archives };
}

/** The archive of a component, or of its newest blocks. Versions of `op-reth` differ in the last block that its name has. */
function filesOf(name: string, { file, url, blocks_per_file: perFile, total_blocks: total, chunk_files: files }: Json): string[] {
  if (typeof file === "string") return [file];
  if (typeof url === "string") return [url];
  if (Array.isArray(files)) return files.slice(-1) as string[];
  if (!isCount(perFile) || !isCount(total)) return [];
  const first = Math.floor((total - 1) / perFile) * perFile;
  return [first + perFile, total].map((end) => `${name}-${first}-${end - 1}.tar.zst`);
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

function placeOf(file: string, source: string, base: string | undefined): string {
  if (isUrl(file)) return file;
  if (base !== undefined) return `${base}/${file}`;
  return isUrl(source) ? new URL(file, source).href : join(dirname(source), file);
}

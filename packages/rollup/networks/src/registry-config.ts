import { basename, dirname, join } from "node:path";
import { isCodedError } from "@rnode/primitives";
import { isNameOf, type Network, networkFromRegistry, networkName } from "@rnode/protocol";
import type { RegistrySource } from "./api.ts";
import { RegistryError } from "./registry-error.ts";
import { readBounded } from "./registry-folder.ts";
import { parseToml } from "./toml.ts";

/** Folder of the chains' files: `<superchain>/<chain>.toml`, and `<superchain>/superchain.toml`. */
export const CONFIGS = "superchain/configs";
const CHAIN_LIST = "chainList.json";

/** A chain's file has about 2 KB. */
const MAX_CONFIG_BYTES = 256 * 1024;
/** The list has 700 bytes for each chain. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;
const MAX_CHAINS = 10_000;
const READ_AT_ONCE = 8;

const PATH = /^[\w-][\w.-]*\/[\w-][\w.-]*$/;

/** A file that is no configuration of a chain, and why. */
interface BadFile {
  readonly file: string;
  readonly reason: string;
}

export interface RegistryContent {
  readonly networks: readonly Network[];
  readonly badFiles: readonly BadFile[];
}

/**
 * `<superchain>/<chain>` of all chains, sorted: by listing the folders, or from chainList.json of a registry that cannot list.
 *
 * @returns `undefined` if this is no registry of configurations, as a mirror of other files is
 * @throws {RegistryError}
 */
export async function chainPaths(source: RegistrySource): Promise<readonly string[] | undefined> {
  const paths = source.list === undefined ? await pathsInChainList(source) : await pathsInFolders(source);
  return paths
    ?.filter((path) => PATH.test(path))
    .slice(0, MAX_CHAINS)
    .sort();
}

async function pathsInFolders(source: RegistrySource): Promise<string[] | undefined> {
  const superchains = await source.list?.(CONFIGS);
  if (superchains === undefined) return undefined;
  const paths: string[] = [];
  for (const superchain of superchains) {
    if (!PATH.test(`${superchain}/chain`)) continue;
    for (const name of (await source.list?.(`${CONFIGS}/${superchain}`)) ?? []) {
      if (name.endsWith(".toml") && name !== "superchain.toml") paths.push(`${superchain}/${name.slice(0, -".toml".length)}`);
    }
  }
  return paths;
}

async function pathsInChainList(source: RegistrySource): Promise<string[] | undefined> {
  const bytes = await source.read(CHAIN_LIST, MAX_LIST_BYTES);
  if (bytes === undefined) return undefined;
  let list: unknown;
  try {
    list = JSON.parse(new TextDecoder().decode(bytes));
  } catch (cause) {
    throw badConfig(source, CHAIN_LIST, (cause as Error).message, cause);
  }
  if (!Array.isArray(list)) throw badConfig(source, CHAIN_LIST, "not a list of chains");
  return list.flatMap((entry: unknown) => {
    const { identifier } = (entry ?? {}) as { readonly identifier?: unknown };
    return typeof identifier === "string" ? [identifier] : [];
  });
}

/**
 * The network at `<superchain>/<chain>`.
 *
 * @returns `undefined` if the registry has no such chain
 * @throws {RegistryError}
 */
export function readNetwork(source: RegistrySource, path: string): Promise<Network | undefined> {
  const [superchain = ""] = path.split("/");
  return readNetworkFiles({
    path,
    file: `${CONFIGS}/${path}.toml`,
    superchainFile: `${CONFIGS}/${superchain}/superchain.toml`,
    read: (file) => source.read(file, MAX_CONFIG_BYTES),
    nameOf: (file) => nameOf(source, file),
  });
}

/** A local chain's file, with superchain.toml in the same folder. @throws {RegistryError} */
export async function readNetworkFile(file: string): Promise<Network> {
  const folder = dirname(file);
  const network = await readNetworkFiles({
    path: `${basename(folder)}/${basename(file, ".toml")}`,
    file,
    superchainFile: join(folder, "superchain.toml"),
    read: (path) => readBounded(path, MAX_CONFIG_BYTES),
    nameOf: (path) => path,
  });
  if (network === undefined) throw new RegistryError("registry/unreadable", { file, reason: "the file is gone" });
  return network;
}

interface NetworkFiles {
  /** `<superchain>/<chain>` */
  readonly path: string;
  readonly file: string;
  readonly superchainFile: string;
  readonly read: (file: string) => Promise<Uint8Array | undefined>;
  /** a file in texts for people */
  readonly nameOf: (file: string) => string;
}

async function readNetworkFiles({ path, file, superchainFile, read, nameOf: named }: NetworkFiles): Promise<Network | undefined> {
  const bytes = await read(file);
  if (bytes === undefined) return undefined;
  const content = parseToml(bytes, named(file));
  const superchain = await read(superchainFile);
  if (superchain === undefined) throw new RegistryError("registry/no-superchain", { file: named(superchainFile) });
  const { l1 } = parseToml(superchain, named(superchainFile)) as { readonly l1?: { readonly chain_id?: unknown } };
  const l1ChainId = l1?.chain_id;
  if (typeof l1ChainId !== "number" || !Number.isSafeInteger(l1ChainId) || l1ChainId < 1) {
    const reason = "l1.chain_id is not an integer above 0";
    throw new RegistryError("registry/bad-config", { file: named(superchainFile), reason });
  }
  try {
    return networkFromRegistry(path, content, l1ChainId);
  } catch (cause) {
    if (!isCodedError(cause)) throw cause;
    throw new RegistryError("registry/bad-config", { file: named(file), reason: cause.message }, { cause });
  }
}

/** Reads a network by its name. @returns `undefined` if the registry lists none of this name @throws {RegistryError} */
export async function readNetworkByName(source: RegistrySource, name: string): Promise<Network | undefined> {
  const paths = (await chainPaths(source)) ?? [];
  const named = paths.filter((path) => isNameOf(name, path));
  const path = named.find((candidate) => networkName(candidate) === name) ?? named[0];
  if (path === undefined) return undefined;
  const network = await readNetwork(source, path);
  if (network === undefined) {
    throw new RegistryError("registry/unreadable", {
      file: nameOf(source, `${CONFIGS}/${path}.toml`),
      reason: "the registry lists it and does not have it",
    });
  }
  return network;
}

/** Reads all networks. Invalid files are reported separately. @throws {RegistryError} the registry itself cannot be read */
export async function readRegistry(source: RegistrySource): Promise<RegistryContent | undefined> {
  const paths = await chainPaths(source);
  if (paths === undefined) return undefined;
  const networks: Network[] = [];
  const badFiles: BadFile[] = [];
  for (let from = 0; from < paths.length; from += READ_AT_ONCE) {
    const read = await Promise.all(paths.slice(from, from + READ_AT_ONCE).map((path) => readOrReason(source, path)));
    for (const item of read) {
      if ("reason" in item) badFiles.push(item);
      else networks.push(item);
    }
  }
  return { networks, badFiles };
}

async function readOrReason(source: RegistrySource, path: string): Promise<Network | BadFile> {
  const file = nameOf(source, `${CONFIGS}/${path}.toml`);
  try {
    return (await readNetwork(source, path)) ?? { file, reason: "the file is missing" };
  } catch (error) {
    if (!isCodedError(error, "registry/")) throw error;
    return { file, reason: error.message };
  }
}

/** A file in texts for people. */
const nameOf = (source: RegistrySource, file: string): string => `${source.describe().replace(/\/+$/, "")}/${file}`;

const badConfig = (source: RegistrySource, file: string, reason: string, cause?: unknown): RegistryError =>
  new RegistryError("registry/bad-config", { file: nameOf(source, file), reason }, { cause });

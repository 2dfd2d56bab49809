import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { expectNetwork, type Network, networkByName, networkName } from "@rnode/protocol";
import type { RegistrySource } from "./api.ts";
import { CONFIGS, chainPaths, readNetwork, readNetworkByName, readNetworkFile } from "./registry-config.ts";
import { RegistryError } from "./registry-error.ts";
import { registryFolder } from "./registry-folder.ts";

export interface FoundNetwork {
  readonly network: Network;
  /** where its facts are from: the registry or the file; `undefined`: the table of this version */
  readonly from: string | undefined;
}

/**
 * Finds the network of an option:
 * - a name, in the given registry, otherwise in the table of this version;
 * - a chain's file of a registry (`…/superchain/configs/mainnet/op.toml`), with superchain.toml in the same folder;
 * - a folder: a registry or a superchain of it with a single chain, or one followed by the name (`REGISTRY/op-mainnet`).
 *
 * @param registry of `--registry`; if it has no configurations (a mirror of other files), the table is used
 * @returns `undefined` if it is none of these
 * @throws {RegistryError}
 */
export async function findNetwork(value: string, registry: RegistrySource | undefined): Promise<FoundNetwork | undefined> {
  const onDisk = await networkOnDisk(value);
  if (onDisk !== undefined) return onDisk;
  const network = networkByName(value);
  if (registry !== undefined && !looksLikePath(value)) {
    const paths = await chainPaths(registry);
    if (paths !== undefined) {
      const named = await readNetworkByName(registry, value);
      if (named === undefined) throw noNetwork(registry.describe(), value, paths);
      return { network: named, from: registry.describe() };
    }
    if (network === undefined && (await kindOf(resolve(value))) === undefined) throw notInTable(registry, value);
  }
  return network && { network, from: undefined };
}

const looksLikePath = (value: string): boolean =>
  value.endsWith(".toml") || value.endsWith(".json") || value.startsWith(".") || value.startsWith("/");

/** A file that ends in `.toml`, or a folder: everything else on this machine is left to other readers. */
async function networkOnDisk(value: string): Promise<FoundNetwork | undefined> {
  const path = resolve(value);
  const kind = await kindOf(path);
  if (kind === "file") return value.endsWith(".toml") ? { network: await readNetworkFile(path), from: value } : undefined;
  if (networkByName(value) !== undefined) return undefined;
  if (kind === "folder") return networkInFolder(path, value);
  if (value.endsWith(".toml")) throw new RegistryError("registry/unreadable", { file: value, reason: "no such file" });
  const folder = dirname(path);
  if (!value.includes("/") || (await kindOf(join(folder, CONFIGS))) !== "folder") return undefined;
  const source = registryFolder(folder);
  const network = await readNetworkByName(source, basename(path));
  if (network === undefined) throw noNetwork(folder, basename(path), (await chainPaths(source)) ?? []);
  return { network, from: folder };
}

async function networkInFolder(folder: string, given: string): Promise<FoundNetwork | undefined> {
  const source = registryFolder(folder);
  const paths = await chainPaths(source);
  if (paths !== undefined) {
    const [path = ""] = paths;
    const network = paths.length === 1 ? await readNetwork(source, path) : undefined;
    if (network !== undefined) return { network, from: given };
    throw ambiguous(given, join(given, networkName(path)), paths.map(networkName));
  }
  if ((await kindOf(join(folder, "superchain.toml"))) !== "file") return undefined;
  const names = (await registryFolder(dirname(folder)).list?.(basename(folder))) ?? [];
  const files = names.filter((name) => name.endsWith(".toml") && name !== "superchain.toml");
  const [file = ""] = files;
  if (files.length === 1) return { network: await readNetworkFile(join(folder, file)), from: given };
  throw ambiguous(given, join(given, file), files);
}

const ambiguous = (folder: string, example: string, names: readonly string[]): RegistryError =>
  new RegistryError("registry/ambiguous", { folder, example, expected: names.join(", ") });

const noNetwork = (registry: string, name: string, paths: readonly string[]): RegistryError =>
  new RegistryError("registry/no-network", { registry, name, expected: paths.map((path) => networkName(path)).join(", ") });

function notInTable(registry: RegistrySource, name: string): RegistryError {
  try {
    expectNetwork(name);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new RegistryError("registry/no-list", { registry: registry.describe(), reason }, { cause });
  }
  throw new TypeError(`${name} is in the table`);
}

async function kindOf(path: string): Promise<"file" | "folder" | undefined> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "file";
  } catch {
    return undefined;
  }
}

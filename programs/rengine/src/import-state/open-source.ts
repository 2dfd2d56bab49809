import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { type CommandIo, makeFolder, UserError } from "@rnode/program";
import { fileChunks, unpacked } from "../setup/packed-text.ts";
import { downloadPieces, isUrl, readJson } from "../setup/read-input.ts";
import { assertRoom } from "./disk-need.ts";
import { isPeers, peersState } from "./peer-source.ts";
import { readRethManifest } from "./reth-manifest.ts";
import { rethState, type StateSource, stateLines } from "./state-source.ts";
import { unpackArchives } from "./unpack-archives.ts";

const STANDARD_INPUT = "-";
/** Within the folder of the database. */
const UNPACKED_FOLDER = "op-reth.partial";
const TAR_MAGIC_AT = 257;
const SNAPSHOT_MAGIC = "rnodesnp";
const SNIFFED_BYTES = 4096;
/** Of lines behind a URL. */
const MAX_LINES_BYTES = 2 ** 50;

export interface OpenOptions {
  readonly datadir: string;
  readonly chainId: bigint;
  /** number of the chain's first block */
  readonly firstBlock: number;
}

/**
 * Opens what `--from` names: `-`, addresses of peers, a data directory of op-reth, or a file or URL with lines of JSON, an archive of a data directory, or a manifest of
 * archives.
 *
 * @returns "snapshot": it is one of rengine
 * @throws {UserError}
 */
export async function openStateSource(from: string, options: OpenOptions, io: CommandIo): Promise<StateSource | "snapshot"> {
  if (from === STANDARD_INPUT) return stateLines("the standard input", undefined, process.stdin as AsyncIterable<Uint8Array>);
  if (isPeers(from)) return peersState(from, options.datadir);
  if (!isUrl(from) && !existsSync(from)) throw new UserError(`--from: ${from}: no such file`);
  const file = isUrl(from) ? undefined : statSync(from);
  if (file?.isDirectory() === true) return rethState(from);
  let sizeBytes = file?.size;
  const chunks = (): AsyncIterable<Uint8Array> =>
    isUrl(from) ? downloadPieces(from, MAX_LINES_BYTES, (bytes) => (sizeBytes = bytes)) : fileChunks(from);
  const kind = kindOf(await firstBytes(from, chunks()));
  if (kind === "snapshot") return kind;
  if (kind === "lines") return stateLines(from, sizeBytes, chunks());
  const archives = kind === "archive" ? [[from]] : await archivesOf(from, options);
  const folder = join(options.datadir, UNPACKED_FOLDER);
  makeFolder(options.datadir);
  const onDatabase = (bytes: number): void => assertRoom(options.datadir, 2 * bytes, io);
  try {
    await unpackArchives(archives, { folder, block: options.firstBlock, onDatabase }, io);
  } catch (error) {
    if (!isUrl(from)) rmSync(folder, { recursive: true, force: true }); // a download goes on there
    throw error;
  }
  try {
    return rethState(folder, from);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

async function archivesOf(source: string, { chainId }: OpenOptions): Promise<readonly (readonly string[])[]> {
  const manifest = readRethManifest(source, await readJson(source));
  if (manifest.chainId === chainId) return manifest.archives;
  throw new UserError(`--from: ${source} is of chain ${manifest.chainId}, and --chain is chain ${chainId}`);
}

/** Unpacked. */
async function firstBytes(source: string, chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of unpacked(source, chunks)) {
    parts.push(part);
    size += part.length;
    if (size >= SNIFFED_BYTES) break;
  }
  return Buffer.concat(parts);
}

function kindOf(bytes: Uint8Array): "archive" | "manifest" | "snapshot" | "lines" {
  const text = Buffer.from(bytes).toString("latin1");
  if (text.startsWith("ustar", TAR_MAGIC_AT)) return "archive";
  if (text.startsWith(SNAPSHOT_MAGIC)) return "snapshot";
  return /^\s*\{[^{}]*"(?:components|storage_version)"\s*:/.test(text) ? "manifest" : "lines";
}

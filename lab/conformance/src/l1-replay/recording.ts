import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { type Hex, LruCache, parseQuantity, toQuantity } from "@rnode/primitives";
import { BLOB_BYTES } from "@rnode/protocol";
import { type BlockEntry, entryOf, L1Store, type RecordedBeacon, type RecordedBlock, type RecordedChain } from "./l1-store.ts";

// The files of a recording: lab/conformance/README.md.

const CHAIN_FILE = "l1.json";
const BLOCK_NAME = /^(\d+)\.json(\.gz)?$/;
const VERSION = 1;
/** Blocks that are kept in memory after they were read; one of mainnet takes a few MB. */
const KEPT_BLOCKS = 24;
const KEPT_BLOBS = 64;

/**
 * Opens a folder with recorded blocks. Each is read once to index its content, and its header is hashed.
 *
 * @throws {Error} with the file and its error
 */
export function openRecording(folder: string): L1Store {
  const chain = readChain(folder);
  if (chain === undefined) throw new Error(`${folder} has no ${CHAIN_FILE}: it is no recording, or one that was interrupted`);
  const files = new Map<number, string>();
  for (const name of readdirSync(join(folder, "blocks"))) {
    const number = BLOCK_NAME.exec(name)?.[1];
    if (number !== undefined) files.set(Number(number), join(folder, "blocks", name));
  }
  const entries = [...files].map(([number, file]): BlockEntry => {
    const entry = about(file, () => entryOf(readBlock(file)));
    if (entry.number !== number) throw new Error(`${file} contains block ${entry.number}`);
    return entry;
  });
  const blocks = new LruCache<number, RecordedBlock>(KEPT_BLOCKS);
  const blobs = new LruCache<Hex, Uint8Array>(KEPT_BLOBS);
  return about(
    folder,
    () =>
      new L1Store(chain, entries, {
        load: (number) => kept(blocks, number, () => readBlock(files.get(number)!))!,
        blob: (hash) => kept(blobs, hash, () => readBlob(folder, hash)),
      }),
  );
}

/** Writes a recording; existing files in its folder are kept. */
export class RecordingWriter {
  readonly #folder: string;

  /** @throws {Error} the folder has a recording of another chain */
  constructor(folder: string, chainId: bigint) {
    this.#folder = folder;
    const former = readChain(folder);
    if (former !== undefined && former.chainId !== chainId) {
      throw new Error(
        `${folder} has blocks of chain ${former.chainId}, and the endpoint is of chain ${chainId}: choose another folder`,
      );
    }
    for (const name of ["blocks", "blobs"]) mkdirSync(join(folder, name), { recursive: true });
  }

  block(number: number): RecordedBlock | undefined {
    const file = this.#blockFile(number);
    return existsSync(file) ? readBlock(file) : undefined;
  }

  hasBlob(versionedHash: Hex): boolean {
    return readBlob(this.#folder, versionedHash) !== undefined;
  }

  writeBlock(number: number, { block, receipts, raw }: RecordedBlock): void {
    write(this.#blockFile(number), gzipSync(JSON.stringify({ block, receipts, raw })));
  }

  writeBlob(versionedHash: Hex, blob: Uint8Array): void {
    write(join(this.#folder, "blobs", `${versionedHash}.gz`), gzipSync(blob));
  }

  /** Makes it a recording: all blocks and blobs are written. */
  finish({ chainId, beacon }: RecordedChain): void {
    const json = { version: VERSION, chainId: toQuantity(chainId), beacon: beacon ?? readChain(this.#folder)?.beacon };
    write(join(this.#folder, CHAIN_FILE), `${JSON.stringify(json, undefined, 2)}\n`);
  }

  #blockFile(number: number): string {
    return join(this.#folder, "blocks", `${number}.json.gz`);
  }
}

function readChain(folder: string): RecordedChain | undefined {
  const file = join(folder, CHAIN_FILE);
  if (!existsSync(file)) return undefined;
  return about(file, () => {
    const { version, chainId, beacon } = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
    if (version !== VERSION) throw new Error(`version ${String(version)}, expected ${VERSION}`);
    return { chainId: parseQuantity(String(chainId)), beacon: beacon as RecordedBeacon | undefined };
  });
}

function readBlock(file: string): RecordedBlock {
  return about(file, () => JSON.parse(readPlain(file).toString("utf8")) as RecordedBlock);
}

function readBlob(folder: string, hash: Hex): Uint8Array | undefined {
  const file = [".gz", ""].map((ending) => join(folder, "blobs", `${hash}${ending}`)).find(existsSync);
  if (file === undefined) return undefined;
  return about(file, () => {
    const blob = readPlain(file);
    if (blob.length !== BLOB_BYTES) throw new Error(`${blob.length} bytes, expected ${BLOB_BYTES}`);
    return blob;
  });
}

function readPlain(file: string): Buffer {
  const bytes = readFileSync(file);
  return file.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}

function kept<K, V>(cache: LruCache<K, V>, key: K, read: () => V | undefined): V | undefined {
  const known = cache.get(key) ?? read();
  if (known !== undefined) cache.set(key, known);
  return known;
}

/** The process can be killed at any moment: a file is complete or absent. */
function write(file: string, content: Uint8Array | string): void {
  writeFileSync(`${file}.new`, content);
  renameSync(`${file}.new`, file);
}

function about<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new Error(`${file}: ${(cause as Error).message}`, { cause });
  }
}

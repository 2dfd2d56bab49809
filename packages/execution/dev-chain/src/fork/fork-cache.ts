import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, utimesSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "@rnode/observe";
import {
  asciiToBytes,
  bigintToBytes,
  bytesToHex,
  concatBytes,
  decodeRlp,
  encodeRlp,
  equalBytes,
  expectRlpList,
  expectRlpString,
  type Hex,
  hexToBytes,
  keccak256,
} from "@rnode/primitives";
import type { StoredAccount } from "@rnode/storage";
import { decodeAccount, encodeAccount } from "@rnode/trie";

/** Something of the state after the fork block; `undefined`: the block has none. */
export type ForkEntry =
  | { readonly kind: "account"; readonly address: Hex; readonly account: StoredAccount | undefined }
  | { readonly kind: "slot"; readonly address: Hex; readonly slot: Hex; readonly word: Uint8Array | undefined }
  | { readonly kind: "code"; readonly code: Uint8Array };

export interface ForkCacheOptions {
  readonly folder: string;
  /** of all blocks in the folder together */
  readonly maxBytes: number;
  readonly chainId: bigint;
  readonly blockHash: Uint8Array;
  /** of the clock: the folder shows when it was used */
  readonly nowSec: number;
}

/** Whether the endpoint proved the values. Proven and unproven values are in separate files, so that they cannot be confused. */
export type Provenance = "proven" | "stated";

const PROVENANCES: readonly Provenance[] = ["proven", "stated"];
const MAGIC = asciiToBytes("rnode fork 1\n");
const LENGTH_BYTES = 4;
const SUM_BYTES = 8;
/** of one record; code is the largest, and no chain has longer code */
const MAX_RECORD_BYTES = 1 << 20;

/**
 * What an endpoint gave of the state after one block, on disk: `folder/chain id/block hash/proven` and `…/stated`. A file is a list of
 * records that only grows, each `length u32 ‖ checksum 8 ‖ RLP`. The checksum covers chain, block and file name. What follows a record with
 * a wrong one is cut off, and fetched again. Several processes may append to a file.
 */
export class ForkCache {
  readonly #options: ForkCacheOptions;
  readonly #log: Pick<Logger, "warn">;
  readonly #path: string;
  #room: number;

  /** @throws errors of the file system */
  constructor(options: ForkCacheOptions, log: Pick<Logger, "warn">) {
    const { folder, maxBytes, chainId, blockHash, nowSec } = options;
    this.#options = options;
    this.#log = log;
    this.#path = join(folder, String(chainId), bytesToHex(blockHash));
    mkdirSync(this.#path, { recursive: true });
    utimesSync(this.#path, nowSec, nowSec);
    this.#room = maxBytes - evictedTo(folder, maxBytes, this.#path);
  }

  /** What earlier runs left. */
  read(provenance: Provenance): ForkEntry[] {
    const path = this.#fileOf(provenance);
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return [];
    const file = readFileSync(path);
    const bytes = new Uint8Array(file.buffer, file.byteOffset, file.byteLength);
    const { entries, end } = entriesOf(bytes, this.#keyOf(provenance));
    if (end < bytes.length) {
      this.#log.warn("the fork cache was damaged: what is behind the damage is fetched again", {
        path,
        lostBytes: bytes.length - end,
      });
      truncateSync(path, end);
    }
    return entries;
  }

  /** A disk that is full or broken ends the cache, not the chain. */
  add(entries: readonly ForkEntry[], provenance: Provenance): void {
    if (this.#room <= 0) return;
    const path = this.#fileOf(provenance);
    const key = this.#keyOf(provenance);
    const isNew = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
    const bytes = concatBytes(...(isNew ? [MAGIC] : []), ...entries.map((entry) => recordOf(entry, key)));
    this.#room -= bytes.length;
    if (this.#room <= 0) {
      this.#log.warn("the fork cache is full: what is fetched from now on is not kept", { maxBytes: this.#options.maxBytes });
      return;
    }
    try {
      appendFileSync(path, bytes);
    } catch (error) {
      this.#room = 0;
      this.#log.warn("the fork cache cannot be written: what is fetched from now on is not kept", { path, error });
    }
  }

  #fileOf(provenance: Provenance): string {
    return join(this.#path, provenance);
  }

  #keyOf(provenance: Provenance): Uint8Array {
    const { chainId, blockHash } = this.#options;
    return keccak256(concatBytes(MAGIC, bigintToBytes(chainId, 32), blockHash, asciiToBytes(provenance)));
  }
}

/** Removes blocks until the rest has at most half the bytes, the longest unused first. @returns the bytes that are left */
function evictedTo(folder: string, maxBytes: number, own: string): number {
  const blocks = foldersIn(folder, /^\d+$/).flatMap((chain) =>
    foldersIn(chain, /^0x[0-9a-f]{64}$/).map((path) => ({ path, usedMs: statSync(path).mtimeMs, bytes: bytesIn(path) })),
  );
  blocks.sort((a, b) => a.usedMs - b.usedMs);
  let total = blocks.reduce((sum, { bytes }) => sum + bytes, 0);
  for (const { path, bytes } of blocks) {
    if (total <= maxBytes / 2) break;
    if (path === own && bytes < maxBytes) continue;
    for (const provenance of PROVENANCES) rmSync(join(path, provenance), { force: true });
    if (path !== own && readdirSync(path).length === 0) rmSync(path, { recursive: true });
    total -= bytes;
  }
  return total;
}

/** Those with other names are none of the cache's. */
const foldersIn = (folder: string, name: RegExp): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((each) =>
    each.isDirectory() && name.test(each.name) ? [join(folder, each.name)] : [],
  );
const bytesIn = (folder: string): number =>
  PROVENANCES.reduce((sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0), 0);

/** @returns the records up to the first that is damaged, and where it begins */
function entriesOf(bytes: Uint8Array, key: Uint8Array): { readonly entries: ForkEntry[]; readonly end: number } {
  const entries: ForkEntry[] = [];
  if (!equalBytes(bytes.subarray(0, MAGIC.length), MAGIC)) return { entries, end: 0 };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = MAGIC.length;
  while (at + LENGTH_BYTES + SUM_BYTES <= bytes.length) {
    const length = view.getUint32(at);
    const from = at + LENGTH_BYTES + SUM_BYTES;
    if (length > MAX_RECORD_BYTES || from + length > bytes.length) break;
    const content = bytes.slice(from, from + length); // a copy: entries outlive the file's bytes
    if (!equalBytes(bytes.subarray(at + LENGTH_BYTES, from), sumOf(content, key))) break;
    entries.push(decodeEntry(content));
    at = from + length;
  }
  return { entries, end: at };
}

const sumOf = (content: Uint8Array, key: Uint8Array): Uint8Array => keccak256(concatBytes(key, content)).subarray(0, SUM_BYTES);

function recordOf(entry: ForkEntry, key: Uint8Array): Uint8Array {
  const content = encodeEntry(entry);
  return concatBytes(bigintToBytes(BigInt(content.length), LENGTH_BYTES), sumOf(content, key), content);
}

const NONE = new Uint8Array(0);

/** [code], [address, account] or [address, slot, word]; empty: none */
function encodeEntry(entry: ForkEntry): Uint8Array {
  if (entry.kind === "code") return encodeRlp([entry.code]);
  const address = hexToBytes(entry.address);
  if (entry.kind === "account") return encodeRlp([address, entry.account === undefined ? NONE : encodeAccount(entry.account)]);
  return encodeRlp([address, hexToBytes(entry.slot), entry.word ?? NONE]);
}

/** What `encodeEntry` made. */
function decodeEntry(content: Uint8Array): ForkEntry {
  const fields = expectRlpList(decodeRlp(content), 1, 3).map((field) => expectRlpString(field));
  const [first = NONE, second = NONE, third = NONE] = fields;
  if (fields.length === 1) return { kind: "code", code: first };
  const address = bytesToHex(first);
  if (fields.length === 2) return { kind: "account", address, account: second.length === 0 ? undefined : decodeAccount(second) };
  return { kind: "slot", address, slot: bytesToHex(second), word: third.length === 0 ? undefined : third };
}

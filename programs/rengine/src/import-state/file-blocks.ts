import { closeSync, openSync, readSync } from "node:fs";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import { decodeBlock, hashHeader } from "@rnode/protocol";
import type { BlockRecord } from "@rnode/snapshot";
import { RowFile } from "@rnode/storage";
import { isGzipFile, readBlocks } from "../setup/read-blocks.ts";
import { fileError } from "../setup/read-input.ts";
import type { Blocks, HashedHeader } from "./block-source.ts";

/** Of a block in the index: hash 32 ‖ offset 6 ‖ size 4. */
const ROW_BYTES = 42;
const OFFSET_AT = 32;
const SIZE_AT = 38;

interface FileOptions {
  /** for a temporary file */
  readonly folder: string;
  readonly onProgress?: ((blocks: number) => void) | undefined;
}

/**
 * Opens a file of RLP blocks, as `rengine export` writes it, and reads it once to know where each block is. It has no receipts.
 *
 * @throws {UserError} naming the file: it is packed, or its blocks are not one chain
 */
export async function openFileBlocks(file: string, { folder, onProgress }: FileOptions): Promise<Blocks> {
  if (await isGzipFile(file).catch((cause: unknown) => Promise.reject(fileError(file, cause))))
    throw new UserError(`--blocks: ${file} is packed with gzip, and its blocks are read from the last to the first: unpack it`);
  const index = new RowFile(folder);
  try {
    let first: number | undefined;
    let next: { readonly number: number; readonly parent: Uint8Array } | undefined;
    const row = Buffer.alloc(ROW_BYTES);
    for await (const { block, at, size } of readBlocks(file)) {
      const { number, parentHash } = block.header;
      if (next !== undefined && (number !== next.number || !equalBytes(parentHash, next.parent)))
        throw new UserError(`--blocks: ${file}: block ${number} at byte ${at} is not the child of the block before it`);
      const hash = hashHeader(block.header);
      row.set(hash);
      row.writeUIntBE(at, OFFSET_AT, 6);
      row.writeUInt32BE(size, SIZE_AT);
      index.append(row);
      first ??= number;
      next = { number: number + 1, parent: hash };
      if (number % 10_000 === 0) onProgress?.(number - first);
    }
    index.flush();
    return new FileBlocks(file, index, first ?? 0);
  } catch (error) {
    index.close();
    throw error;
  }
}

class FileBlocks implements Blocks {
  readonly hasReceipts = false;
  readonly #file: string;
  readonly #descriptor: number;
  readonly #index: RowFile;
  readonly #first: number;
  readonly #count: number;
  /** of the block that is asked for next, if blocks are asked for from the last to the first */
  #expected: number;

  constructor(file: string, index: RowFile, first: number) {
    this.#file = file;
    this.#index = index;
    this.#first = first;
    this.#count = index.sizeBytes / ROW_BYTES;
    this.#expected = this.#count - 1;
    this.#descriptor = openSync(file, "r");
  }

  async blockOf(hash: Uint8Array): Promise<BlockRecord | undefined> {
    const place = this.#hasHash(this.#expected, hash) ? this.#expected : this.#find(hash);
    if (place < 0) return undefined;
    this.#expected = place - 1;
    return this.#record(place);
  }

  async range(first: number, last: number): Promise<readonly BlockRecord[]> {
    if (first < this.#first || last >= this.#first + this.#count) {
      const end = this.#first + this.#count - 1;
      throw new UserError(`--blocks: ${this.#file} has blocks ${this.#first} to ${end}, and blocks ${first} to ${last} are needed`);
    }
    return Array.from({ length: last - first + 1 }, (_, i) => this.#record(first - this.#first + i));
  }

  async *headers(): AsyncGenerator<HashedHeader> {
    for (let place = this.#count - 1; place >= 0; place--)
      yield { header: this.#record(place).block.header, hash: this.#row(place).subarray(0, OFFSET_AT) };
  }

  #find(hash: Uint8Array): number {
    for (let place = this.#count - 1; place >= 0; place--) if (this.#hasHash(place, hash)) return place;
    return -1;
  }

  #hasHash(place: number, hash: Uint8Array): boolean {
    return place >= 0 && equalBytes(this.#row(place).subarray(0, 32), hash);
  }

  #row(place: number): Buffer {
    const row = Buffer.alloc(ROW_BYTES);
    this.#index.read(row, place * ROW_BYTES);
    return row;
  }

  #record(place: number): BlockRecord {
    const row = this.#row(place);
    const bytes = new Uint8Array(row.readUInt32BE(SIZE_AT));
    const read = readSync(this.#descriptor, bytes, 0, bytes.length, row.readUIntBE(OFFSET_AT, 6));
    if (read !== bytes.length) throw new UserError(`--blocks: ${this.#file}: block ${bytesToHex(row.subarray(0, 32))} is cut off`);
    return { block: decodeBlock(bytes), receipts: [] };
  }

  async close(): Promise<void> {
    this.#index.close();
    closeSync(this.#descriptor);
  }
}

import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Logger } from "@rnode/observe";
import { bytesToHex, hexToFixedBytes, isCodedError, isSystemError } from "@rnode/primitives";
import type { HeaderStore, Segment } from "./header-store.ts";

const VERSION = 1;
const HASH_BYTES = 32;

/** The content of `segments.json`. */
interface SegmentsJson {
  readonly version: number;
  readonly genesis: string;
  readonly segments: readonly { readonly low: number; readonly high: number; readonly parentHash: string }[];
}

/**
 * Two files in a folder. `hashes` has the hash of block n at 32 × (n − genesis), with holes for missing blocks. `segments.json`
 * lists the valid parts, and is replaced atomically.
 */
export class HeaderFile implements HeaderStore {
  readonly #folder: string;
  readonly #genesis: { readonly number: number; readonly hash: Uint8Array };
  readonly #log: Logger;
  #fd: number | undefined;

  /** @param genesis files of another chain are deleted */
  constructor(folder: string, genesis: { readonly number: number; readonly hash: Uint8Array }, log: Logger) {
    this.#folder = folder;
    this.#genesis = genesis;
    this.#log = log;
  }

  load(): readonly Segment[] {
    let text: string;
    try {
      text = readFileSync(this.#segmentsPath, "utf8");
    } catch (error) {
      if (isSystemError(error, "ENOENT")) return [];
      throw error;
    }
    try {
      return parseSegments(text, bytesToHex(this.#genesis.hash));
    } catch (error) {
      if (!(error instanceof SyntaxError) && !isCodedError(error)) throw error;
      this.#log.warn("what an earlier sync has kept of headers cannot be used: they are fetched again", {
        file: this.#segmentsPath,
        reason: error.message,
      });
      this.clear();
      return [];
    }
  }

  save(segments: readonly Segment[]): void {
    fdatasyncSync(this.#open()); // hashes must be on disk before the list that refers to them
    const json: SegmentsJson = {
      version: VERSION,
      genesis: bytesToHex(this.#genesis.hash),
      segments: segments.map(({ low, high, parentHash }) => ({ low, high, parentHash: bytesToHex(parentHash) })),
    };
    const temporary = `${this.#segmentsPath}.tmp`;
    writeFileSync(temporary, JSON.stringify(json), { flush: true });
    renameSync(temporary, this.#segmentsPath);
  }

  write(firstNumber: number, hashes: Uint8Array): void {
    const fd = this.#open();
    const at = this.#offsetOf(firstNumber);
    for (let done = 0; done < hashes.length; ) done += writeSync(fd, hashes, done, hashes.length - done, at + done);
  }

  read(firstNumber: number, count: number): Uint8Array {
    const found = new Uint8Array(count * HASH_BYTES);
    const fd = this.#open();
    const at = this.#offsetOf(firstNumber);
    for (let done = 0; done < found.length; ) {
      const got = readSync(fd, found, done, found.length - done, at + done);
      if (got === 0) break;
      done += got;
    }
    return found;
  }

  clear(): void {
    this.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  get #segmentsPath(): string {
    return join(this.#folder, "segments.json");
  }

  #offsetOf(number: number): number {
    return (number - this.#genesis.number) * HASH_BYTES;
  }

  #open(): number {
    if (this.#fd !== undefined) return this.#fd;
    mkdirSync(this.#folder, { recursive: true });
    const path = join(this.#folder, "hashes");
    try {
      this.#fd = openSync(path, "r+");
    } catch (error) {
      if (!isSystemError(error, "ENOENT")) throw error;
      this.#fd = openSync(path, "w+");
    }
    return this.#fd;
  }
}

/** @throws {SyntaxError} it is not in the form of `save` */
function parseSegments(text: string, genesis: string): readonly Segment[] {
  const json = JSON.parse(text) as Partial<SegmentsJson> | null;
  if (json?.version !== VERSION || !Array.isArray(json.segments)) throw new SyntaxError("it is of another version");
  if (json.genesis !== genesis) throw new SyntaxError(`it is of the chain with the genesis ${String(json.genesis)}`);
  let above = Number.POSITIVE_INFINITY;
  return (json.segments as unknown[]).map((entry) => {
    const { low, high, parentHash } = entry as Record<string, unknown>;
    const isRange = Number.isSafeInteger(low) && Number.isSafeInteger(high) && Number(low) > 0 && Number(low) <= Number(high);
    if (!isRange || Number(high) >= above) throw new SyntaxError(`it has no range of blocks: ${String(low)} to ${String(high)}`);
    above = Number(low);
    return { low: Number(low), high: Number(high), parentHash: hexToFixedBytes(String(parentHash), HASH_BYTES) };
  });
}

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bytesToHex, equalBytes, isZeroBytes } from "@rnode/primitives";
import { type Header, hashHeader } from "@rnode/protocol";
import { decodeCompactHeader } from "../compact/header.ts";
import { Malformed, placed, RethDataError } from "../errors.ts";
import { asRethData } from "../files/read-file.ts";
import { HeadersJar } from "./nippy-jar.ts";

const NAME = /^static_file_headers_(\d{1,15})_(\d{1,15})$/;

export interface HashedHeader {
  readonly header: Header;
  /** computed, and equal to the stored one */
  readonly hash: Uint8Array;
}

/** The headers in `static_files`: one file for each 500,000 blocks, or what the node was told. */
export class StaticHeaders {
  readonly #files: readonly { readonly path: string; readonly first: number; readonly last: number }[];
  #open: { readonly path: string; readonly jar: HeadersJar } | undefined;

  /** @throws {RethDataError} reth-data/damaged if the folder is missing, reth-data/unreadable */
  constructor(folder: string) {
    this.#files = asRethData(folder, () => readdirSync(folder)).flatMap((name) => {
      const [, first, last] = NAME.exec(name) ?? [];
      return first === undefined ? [] : [{ path: join(folder, name), first: Number(first), last: Number(last) }];
    });
  }

  /** @throws {RethDataError} reth-data/no-header, reth-data/damaged, reth-data/unknown-version, reth-data/unreadable */
  read(number: number): HashedHeader {
    const file = this.#files.find(({ first, last }) => first <= number && number <= last);
    if (file === undefined) throw new RethDataError("reth-data/no-header", { number, reason: "no static file is for it" });
    const jar = this.#jarAt(file.path);
    const { first, last } = jar.blocks;
    if (number < first || number > last) {
      const reason = last < first ? `${file.path} has no blocks` : `${file.path} has blocks ${first} to ${last}`;
      throw new RethDataError("reth-data/no-header", { number, reason });
    }
    const row = jar.row(number);
    // `op-reth init-state` fills the blocks below the state with empty headers and this hash
    if (isZeroBytes(row.hash)) throw new RethDataError("reth-data/no-header", { number, reason: "a placeholder is in its place" });
    try {
      return checkedHeader(row.header, row.hash, number);
    } catch (cause) {
      throw placed(cause, file.path, `row ${number - first}`);
    }
  }

  close(): void {
    this.#open?.jar.close();
    this.#open = undefined;
  }

  #jarAt(path: string): HeadersJar {
    if (this.#open?.path !== path) {
      this.close();
      this.#open = { path, jar: new HeadersJar(path) };
    }
    return this.#open.jar;
  }
}

/** @throws {Malformed} */
function checkedHeader(compact: Uint8Array, storedHash: Uint8Array, number: number): HashedHeader {
  const header = decodeCompactHeader(compact);
  const hash = hashHeader(header);
  if (!equalBytes(hash, storedHash)) {
    throw new Malformed(`the header's hash is ${bytesToHex(hash)}, and ${bytesToHex(storedHash)} is beside it`);
  }
  if (header.number !== number) throw new Malformed(`the header is of block ${header.number}, not ${number}`);
  return { header, hash };
}

import { closeSync, fstatSync, ftruncateSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";
import { storageError } from "../errors.ts";

/*
 * LMDB maps its file into memory and trusts it: garbage or a file cut short end the process with a signal, not with an error. So the two
 * meta pages are looked at before LMDB gets the file. Layout of a meta page on 64-bit little-endian machines (lmdb 0.9.90 and later):
 *   page header 24 ‖ magic 4 ‖ version 4 ‖ address 8 ‖ map size 8 ‖ page size 4 ‖ … ‖ last page 8, at 144 ‖ transaction 8
 */

const MAGIC_AT = 24;
const VERSION_AT = 28;
const PAGE_SIZE_AT = 48;
const LAST_PAGE_AT = 144;
const TRANSACTION_AT = 152;
const META_SIZE = 160;
const MAGIC = 0xbeefc0de;
const VERSION = 2;
/** LMDB does not write the last pages when they were freed in the transaction that took them. */
const MAX_UNWRITTEN_BYTES = 1 << 20;

/** What a meta page says. */
export interface DataFileMeta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  /** its beginning */
  readonly page: Buffer;
}

const hasKnownLayout = endianness() === "LE" && ["x64", "arm64"].includes(process.arch);

/**
 * Checks that LMDB can open the file.
 *
 * @throws {CodedError} storage/corrupted
 */
export function checkDataFile(folder: string, file: string, isWriter: boolean): void {
  if (!hasKnownLayout) return;
  const descriptor = openSync(file, isWriter ? "r+" : "r");
  try {
    if (fstatSync(descriptor).size === 0) return; // as good as no file
    const corrupted = (reason: string): Error => storageError("storage/corrupted", { folder, reason });
    const first = readMeta(descriptor, 0);
    if (first === undefined) throw corrupted("data.mdb is not an LMDB file of this version");
    const second = readMeta(descriptor, first.pageSize);
    if (second === undefined || second.pageSize !== first.pageSize) throw corrupted("data.mdb has a damaged header");
    const { lastPage } = first.transaction > second.transaction ? first : second;
    const { size } = fstatSync(descriptor); // after the header: a writer beside us lets the file grow first
    const expected = (lastPage + 1) * first.pageSize;
    if (expected - size > MAX_UNWRITTEN_BYTES) throw corrupted(`data.mdb has ${size} bytes and should have ${expected}`);
    if (expected > size && isWriter) ftruncateSync(descriptor, expected); // missing pages read as errors instead of a signal
  } finally {
    closeSync(descriptor);
  }
}

/** The meta page of the last commit; undefined where there is none, or its layout is not known. */
export function readCurrentMeta(descriptor: number): DataFileMeta | undefined {
  const first = hasKnownLayout ? readMeta(descriptor, 0) : undefined;
  const second = first && readMeta(descriptor, first.pageSize);
  if (first === undefined || second === undefined) return undefined;
  return first.transaction > second.transaction ? first : second;
}

function readMeta(descriptor: number, position: number): DataFileMeta | undefined {
  const page = Buffer.alloc(META_SIZE);
  if (readSync(descriptor, page, 0, META_SIZE, position) < META_SIZE) return undefined;
  const pageSize = page.readUInt32LE(PAGE_SIZE_AT);
  const isPowerOfTwo = (pageSize & (pageSize - 1)) === 0;
  const isMeta = page.readUInt32LE(MAGIC_AT) === MAGIC && (page.readUInt32LE(VERSION_AT) & 0xffff) === VERSION;
  if (!isMeta || !isPowerOfTwo || pageSize < 256 || pageSize > 65_536) return undefined;
  const lastPage = Number(page.readBigUInt64LE(LAST_PAGE_AT));
  return { pageSize, lastPage, transaction: Number(page.readBigUInt64LE(TRANSACTION_AT)), page };
}

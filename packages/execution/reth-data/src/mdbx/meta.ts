import { Malformed } from "../errors.ts";
import { u16, u32, u64 } from "../files/little-endian.ts";
import { PageFlag } from "./page.ts";

/** A B+ tree in the file. */
export interface TreeRecord {
  readonly flags: number;
  /** levels: 1 if the root is a leaf, 0 if the tree is empty */
  readonly height: number;
  readonly root: number;
  /** rows; each duplicate is one */
  readonly items: number;
}

/** A flushed commit, from one of the three meta pages. */
export interface Meta {
  readonly txnid: number;
  readonly pageBytes: number;
  /** pages from this number on have never been used */
  readonly endPage: number;
  /** the tree of named tables: a tree record */
  readonly main: Uint8Array;
}

export const TREE_RECORD_BYTES = 48;
export const META_PAGES = 3;
/** Of libmdbx: the depth of its cursors. */
const MAX_HEIGHT = 32;
const NO_PAGE = 0xffff_ffff;

/** magic 0x59659dbdef4c11, then the version of the format */
const MAGIC = 0x59659d;
const MAGIC_LOW = 0xbdef4c11;
export const FORMAT = 3;
/** A commit that was not flushed has 0 or 1. */
const MAX_UNSTEADY_SIGN = 1;

/** Offsets in a meta page. */
const AT = { magic: 20, txnidA: 28, endPage: 56, gc: 60, main: 108, sign: 188, txnidB: 196, end: 204 } as const;
export const META_BYTES = AT.end;

/** Sorting and key types that op-reth does not use: reversed and integer keys and duplicates. */
const UNUSED_FLAGS = 0x02 | 0x08 | 0x20 | 0x40;
/** A key can have several values. */
export const DUPSORT = 0x04;

/**
 * flags u16 ‖ height u16 ‖ size of a duplicate u32 ‖ root u32 ‖ branch, leaf and large pages, u32 each ‖ sequence u64 ‖ items u64 ‖ txnid u64
 *
 * @param endPage page numbers are lower
 * @throws {Malformed}
 */
export function readTreeRecord(bytes: Uint8Array, at: number, endPage: number): TreeRecord {
  const record = { flags: u16(bytes, at), height: u16(bytes, at + 2), root: u32(bytes, at + 8), items: u64(bytes, at + 32) };
  const { flags, height, root, items } = record;
  if (flags & UNUSED_FLAGS) throw new Malformed(`a table with flags ${flags}, which op-reth does not use`);
  if (root === NO_PAGE && height === 0 && items === 0) return record;
  if (height === 0 || height > MAX_HEIGHT) throw new Malformed(`a tree of height ${height}`);
  if (root < META_PAGES || root >= endPage) throw new Malformed(`a tree with its root on page ${root}`);
  if (items === 0) throw new Malformed("a tree with pages and without rows");
  return record;
}

/** The flushed commit that a meta page has, if it has one and the file has pages of this size. */
export function readMeta(bytes: Uint8Array, pageBytes: number): Meta | undefined {
  if (formatOf(bytes) !== FORMAT || u16(bytes, 10) !== PageFlag.meta) return undefined;
  const txnid = u64(bytes, AT.txnidA);
  const isSteady = u64(bytes, AT.sign) > MAX_UNSTEADY_SIGN;
  if (txnid === 0 || txnid !== u64(bytes, AT.txnidB) || !isSteady || u32(bytes, AT.gc + 4) !== pageBytes) return undefined;
  return { txnid, pageBytes, endPage: u32(bytes, AT.endPage), main: bytes.slice(AT.main, AT.main + TREE_RECORD_BYTES) };
}

/** The version of the file's format that a meta page names; `undefined` if the page is not one of libmdbx. */
export function formatOf(bytes: Uint8Array): number | undefined {
  if (bytes.length < META_BYTES) return undefined;
  const isMdbx = u32(bytes, AT.magic + 1) === MAGIC_LOW && u32(bytes, AT.magic + 4) >>> 8 === MAGIC;
  return isMdbx ? bytes[AT.magic] : undefined;
}

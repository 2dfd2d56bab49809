import { Malformed } from "../errors.ts";
import { u16, u32 } from "../files/little-endian.ts";

/*
 * Page, little-endian: txnid u64 ‖ size of a duplicate u16 ‖ flags u16 ‖ (lower u16 ‖ upper u16 | pages u32) ‖ page number u32, then
 * (lower / 2) offsets u16 of nodes, counted from the end of this header. Nodes grow downwards from the end of the page.
 * Node: (data size u32 | child page u32) ‖ flags u8 ‖ 1 ‖ key size u16 ‖ key ‖ data.
 * The pages of equally long duplicates have the values instead of offsets, one after the other.
 */

export const PAGE_HEADER_BYTES = 20;
const NODE_HEADER_BYTES = 8;

export const PageFlag = { branch: 1, leaf: 2, large: 4, meta: 8, dupfix: 0x20, sub: 0x40 } as const;
/** Versions before 0.10 leave this bit in pages within pages. */
const LEGACY_DIRTY = 0x10;

/** Of a node in a leaf. Other values are damage. */
export const NodeKind = { value: 0, largeValue: 1, table: 2, subPage: 4, subTree: 6 } as const;

/** A branch, a leaf, or a page of duplicates within a node. Methods check what they read. */
export class Page {
  readonly bytes: Uint8Array;
  readonly isBranch: boolean;
  /** number of nodes or duplicates, at least 1 */
  readonly count: number;
  /** of a page of equally long duplicates; otherwise 0 */
  readonly #dupfixBytes: number;

  /** @throws {Malformed} */
  constructor(bytes: Uint8Array, place: "page" | "sub-page") {
    this.bytes = bytes;
    if (bytes.length < PAGE_HEADER_BYTES) throw new Malformed("the page is shorter than its header");
    const flags = place === "page" ? u16(bytes, 10) : u16(bytes, 10) & ~LEGACY_DIRTY;
    const kind = place === "page" ? flags : flags ^ PageFlag.sub;
    this.isBranch = kind === PageFlag.branch && place === "page";
    if (!this.isBranch && (kind & ~PageFlag.dupfix) !== PageFlag.leaf) throw new Malformed(`unexpected page flags ${flags}`);
    const lower = u16(bytes, 12);
    this.count = lower >> 1;
    if (this.count === 0 || lower % 2 !== 0) throw new Malformed(`the table of nodes has ${lower} bytes`);
    this.#dupfixBytes = kind & PageFlag.dupfix ? u16(bytes, 8) : 0;
    if (kind & PageFlag.dupfix && this.#dupfixBytes === 0) throw new Malformed("duplicates without a size");
    const end = PAGE_HEADER_BYTES + (this.#dupfixBytes === 0 ? lower : this.count * this.#dupfixBytes);
    if (end > bytes.length) throw new Malformed(`${this.count} nodes do not fit into a page`);
  }

  /** @returns a view */
  key(index: number): Uint8Array {
    if (this.#dupfixBytes > 0) {
      const start = PAGE_HEADER_BYTES + index * this.#dupfixBytes;
      return this.bytes.subarray(start, start + this.#dupfixBytes);
    }
    const node = this.#node(index);
    const start = node + NODE_HEADER_BYTES;
    return this.bytes.subarray(start, this.#within(start + u16(this.bytes, node + 6)));
  }

  child(index: number): number {
    return u32(this.bytes, this.#node(index));
  }

  nodeKind(index: number): number {
    return this.#dupfixBytes > 0 ? NodeKind.value : this.bytes[this.#node(index) + 4]!;
  }

  /** The size of the node's data, which for a large value is elsewhere. */
  dataBytes(index: number): number {
    return u32(this.bytes, this.#node(index));
  }

  /** @returns a view of `length` bytes of the node's data */
  data(index: number, length: number): Uint8Array {
    const node = this.#node(index);
    const start = node + NODE_HEADER_BYTES + u16(this.bytes, node + 6);
    return this.bytes.subarray(start, this.#within(start + length));
  }

  /** The first page of a large value. */
  largePage(index: number): number {
    return u32(this.data(index, 4), 0);
  }

  #node(index: number): number {
    const offset = u16(this.bytes, PAGE_HEADER_BYTES + 2 * index);
    if (offset < 2 * this.count) throw new Malformed(`node ${index} lies in the table of nodes`);
    this.#within(PAGE_HEADER_BYTES + offset + NODE_HEADER_BYTES);
    return PAGE_HEADER_BYTES + offset;
  }

  #within(end: number): number {
    if (end > this.bytes.length) throw new Malformed("a node ends behind its page");
    return end;
  }
}

import { compareBytes, concatBytes, equalBytes } from "@rnode/primitives";
import { DUPSORT, META_PAGES, TREE_RECORD_BYTES } from "../mdbx/meta.ts";
import { NodeKind, PAGE_HEADER_BYTES, PageFlag } from "../mdbx/page.ts";

/** Duplicates that all have the same size. */
const DUPFIXED = 0x10;
const TXNID = 7;
const NODE_HEADER_BYTES = 8;
const NO_PAGE = 0xffff_ffff;

export interface MdbxTable {
  /** in any order */
  readonly rows: readonly (readonly [key: Uint8Array, value: Uint8Array])[];
  /** several values a key; "fixed": all of one size */
  readonly duplicates?: "any" | "fixed";
}

interface Node {
  readonly key: Uint8Array;
  readonly kind: number;
  readonly data: Uint8Array;
  /** of the value, which for a large one is not `data` */
  readonly dataBytes: number;
}

/** A database file of libmdbx with these tables, as one transaction would leave it. For tests: everything is in memory. */
export class MdbxWriter {
  readonly #pageBytes: number;
  readonly #pages: Uint8Array[];

  constructor(pageBytes = 4096) {
    this.#pageBytes = pageBytes;
    this.#pages = Array.from({ length: META_PAGES }, () => new Uint8Array(pageBytes));
  }

  static write(tables: Readonly<Record<string, MdbxTable>>, pageBytes?: number): Uint8Array {
    const writer = new MdbxWriter(pageBytes);
    const nodes = Object.entries(tables).map(([name, table]) => {
      const key = new TextEncoder().encode(name);
      return { key, kind: NodeKind.table, data: writer.#table(table), dataBytes: TREE_RECORD_BYTES };
    });
    const main = writer.#tree(
      nodes.sort((a, b) => compareBytes(a.key, b.key)),
      0,
      nodes.length,
    );
    writer.#writeMetas(main);
    return concatBytes(...writer.#pages);
  }

  #table({ rows, duplicates }: MdbxTable): Uint8Array {
    const sorted = [...rows].sort(([a, x], [b, y]) => compareBytes(a, b) || compareBytes(x, y));
    if (duplicates === undefined)
      return this.#tree(
        sorted.map(([key, value]) => this.#valueNode(key, value)),
        0,
        rows.length,
      );
    const flags = DUPSORT | (duplicates === "fixed" ? DUPFIXED : 0);
    const nodes: Node[] = [];
    for (let start = 0, end = 0; start < sorted.length; start = end) {
      const key = sorted[start]![0];
      while (end < sorted.length && equalBytes(sorted[end]![0], key)) end++;
      nodes.push(
        this.#duplicatesNode(
          key,
          sorted.slice(start, end).map(([, value]) => value),
          duplicates === "fixed",
        ),
      );
    }
    return this.#tree(nodes, flags, rows.length);
  }

  #valueNode(key: Uint8Array, value: Uint8Array): Node {
    if (value.length <= this.#pageBytes / 4) return { key, kind: NodeKind.value, data: value, dataBytes: value.length };
    const page = this.#pages.length;
    const pages = Math.ceil((PAGE_HEADER_BYTES + value.length) / this.#pageBytes);
    const bytes = new Uint8Array(pages * this.#pageBytes);
    writeHeader(bytes, page, PageFlag.large, 0, pages, 0);
    bytes.set(value, PAGE_HEADER_BYTES);
    for (let i = 0; i < pages; i++) this.#pages.push(bytes.subarray(i * this.#pageBytes, (i + 1) * this.#pageBytes));
    return { key, kind: NodeKind.largeValue, data: uint32(page), dataBytes: value.length };
  }

  /** One value, a page within the node, or a tree, by the room they need. */
  #duplicatesNode(key: Uint8Array, values: readonly Uint8Array[], isFixed: boolean): Node {
    if (values.length === 1) return this.#valueNode(key, values[0]!);
    const nodes = values.map((value) => ({ key: value, kind: NodeKind.value, data: new Uint8Array(), dataBytes: 0 }));
    const subPage = leafPage(nodes, undefined, isFixed);
    if (subPage.length <= this.#pageBytes / 4) return { key, kind: NodeKind.subPage, data: subPage, dataBytes: subPage.length };
    return {
      key,
      kind: NodeKind.subTree,
      data: this.#tree(nodes, isFixed ? DUPFIXED : 0, values.length, isFixed),
      dataBytes: TREE_RECORD_BYTES,
    };
  }

  /** @returns the record of the tree */
  #tree(nodes: readonly Node[], flags: number, items: number, isFixed = false): Uint8Array {
    if (nodes.length === 0) return treeRecord(flags, 0, NO_PAGE, 0);
    let level = this.#level(nodes, (part, page) => leafPage(part, { page, bytes: this.#pageBytes }, isFixed));
    let height = 1;
    for (; level.length > 1; height++) level = this.#level(level, (part, page) => branchPage(part, page, this.#pageBytes));
    return treeRecord(flags, height, level[0]!.page, items);
  }

  /** Fills pages with nodes. @returns first key and number of each page */
  #level<T extends { readonly key: Uint8Array; readonly data?: Uint8Array }>(
    nodes: readonly T[],
    write: (part: readonly T[], page: number) => Uint8Array,
  ): { readonly key: Uint8Array; readonly page: number }[] {
    const level: { key: Uint8Array; page: number }[] = [];
    const room = this.#pageBytes - PAGE_HEADER_BYTES;
    for (let start = 0, end = 0; start < nodes.length; start = end) {
      for (let used = 0; end < nodes.length; end++) {
        used += nodeBytes(nodes[end]!) + 2;
        if (used > room) break;
      }
      const page = this.#pages.length;
      this.#pages.push(write(nodes.slice(start, end), page));
      level.push({ key: nodes[start]!.key, page });
    }
    return level;
  }

  #writeMetas(main: Uint8Array): void {
    const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#pages.slice(0, META_PAGES).forEach((bytes, index) => {
      const meta = view(bytes);
      const txnid = BigInt(TXNID - index);
      writeHeader(bytes, index, PageFlag.meta, 0, 0, 0);
      meta.setBigUint64(20, (0x59659dbdef4c11n << 8n) | 3n, true);
      meta.setBigUint64(28, txnid, true);
      meta.setUint32(56, this.#pages.length, true);
      bytes.set(treeRecord(0, 0, NO_PAGE, 0), 60);
      meta.setUint32(64, this.#pageBytes, true);
      bytes.set(main, 108);
      meta.setBigUint64(188, 2n, true);
      meta.setBigUint64(196, txnid, true);
    });
  }
}

const even = (size: number): number => size + (size % 2);
const nodeBytes = ({ key, data }: { readonly key: Uint8Array; readonly data?: Uint8Array }): number =>
  even(NODE_HEADER_BYTES + key.length + (data?.length ?? 0));

function uint32(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return bytes;
}

function writeHeader(
  bytes: Uint8Array,
  page: number,
  flags: number,
  lower: number,
  upperOrPages: number,
  dupfixBytes: number,
): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  view.setBigUint64(0, BigInt(TXNID), true);
  view.setUint16(8, dupfixBytes, true);
  view.setUint16(10, flags, true);
  if (flags === PageFlag.large) view.setUint32(12, upperOrPages, true);
  else {
    view.setUint16(12, lower, true);
    view.setUint16(14, upperOrPages, true);
  }
  view.setUint32(16, page, true);
}

function treeRecord(flags: number, height: number, root: number, items: number): Uint8Array {
  const bytes = new Uint8Array(TREE_RECORD_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, flags, true);
  view.setUint16(2, height, true);
  view.setUint32(8, root, true);
  view.setBigUint64(32, BigInt(items), true);
  return bytes;
}

/** @param place undefined: a page within a node, as small as possible */
function leafPage(
  nodes: readonly Node[],
  place: { readonly page: number; readonly bytes: number } | undefined,
  isFixed: boolean,
): Uint8Array {
  const flags = PageFlag.leaf | (place ? 0 : PageFlag.sub) | (isFixed ? PageFlag.dupfix : 0);
  if (isFixed) {
    const keys = concatBytes(...nodes.map(({ key }) => key));
    const bytes = new Uint8Array(place?.bytes ?? PAGE_HEADER_BYTES + keys.length);
    writeHeader(bytes, place?.page ?? 0, flags, 2 * nodes.length, 0, nodes[0]!.key.length);
    bytes.set(keys, PAGE_HEADER_BYTES);
    return bytes;
  }
  return nodesPage(nodes, place, flags, ({ kind, dataBytes }) => [dataBytes, kind]);
}

function branchPage(
  children: readonly { readonly key: Uint8Array; readonly page: number }[],
  page: number,
  bytes: number,
): Uint8Array {
  // the first child has no key
  const nodes = children.map((child, index) => (index === 0 ? { ...child, key: new Uint8Array() } : child));
  return nodesPage(nodes, { page, bytes }, PageFlag.branch, (child) => [child.page, 0]);
}

/** @param start of a node: its first field, and its flags */
function nodesPage<T extends { readonly key: Uint8Array; readonly data?: Uint8Array }>(
  nodes: readonly T[],
  place: { readonly page: number; readonly bytes: number } | undefined,
  flags: number,
  start: (node: T) => readonly [first: number, flags: number],
): Uint8Array {
  const used = nodes.reduce((size, node) => size + nodeBytes(node) + 2, PAGE_HEADER_BYTES);
  const bytes = new Uint8Array(place?.bytes ?? used);
  const view = new DataView(bytes.buffer);
  let at = bytes.length;
  nodes.forEach((node, index) => {
    at -= nodeBytes(node);
    const [first, kind] = start(node);
    view.setUint16(PAGE_HEADER_BYTES + 2 * index, at - PAGE_HEADER_BYTES, true);
    view.setUint32(at, first, true);
    bytes[at + 4] = kind;
    view.setUint16(at + 6, node.key.length, true);
    bytes.set(node.key, at + NODE_HEADER_BYTES);
    bytes.set(node.data ?? [], at + NODE_HEADER_BYTES + node.key.length);
  });
  writeHeader(bytes, place?.page ?? 0, flags, 2 * nodes.length, at - PAGE_HEADER_BYTES, 0);
  return bytes;
}

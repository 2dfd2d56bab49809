import type { Hex } from "@rnode/primitives";
import type { Block } from "@rnode/protocol";
import type { ExecutedBlock } from "../execute/executed-block.ts";

export interface BlockTreeLimits {
  readonly maxBlocks: number;
  /** limit for the rough size of all blocks */
  readonly maxBytes: number;
  /** the limit once the lowest block is stored: canonical blocks need not be kept */
  readonly maxStoredBytes: number;
}

const MIB = 1024 * 1024;
export const DEFAULT_TREE_LIMITS: BlockTreeLimits = { maxBlocks: 256, maxBytes: 256 * MIB, maxStoredBytes: 64 * MIB };
/** Measured: the objects with their typed arrays, and the values cached with them. */
const BYTES_PER_TRANSACTION = 1500;
const BYTES_PER_RECEIPT = 600;
const BYTES_PER_LOG = 800;
const BYTES_PER_ACCOUNT = 1000;
const BYTES_PER_SLOT = 500;
const BYTES_PER_NODE = 450;

/**
 * Executed blocks in memory: those that fork choice has not chosen (yet), and the latest canonical ones, so that fork choice can return
 * to a chain that it left. Beyond the limits, the lowest blocks are dropped first; they are executed again if needed. The branch of the
 * latest block stays complete as long as the limit for all blocks permits, because blocks that are not canonical exist nowhere else.
 */
export class BlockTree {
  readonly #limits: BlockTreeLimits;
  readonly #isCanonical: (hashHex: Hex, number: number) => boolean;
  readonly #blocks = new Map<Hex, { readonly executed: ExecutedBlock; readonly bytes: number }>();
  /** the same, lowest first */
  readonly #ascending: ExecutedBlock[] = [];
  #bytes = 0;

  /** @param isCanonical tells whether the database has the block */
  constructor(limits: BlockTreeLimits, isCanonical: (hashHex: Hex, number: number) => boolean) {
    this.#limits = limits;
    this.#isCanonical = isCanonical;
  }

  get(hashHex: Hex): ExecutedBlock | undefined {
    return this.#blocks.get(hashHex)?.executed;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** rough size in bytes */
  get bytes(): number {
    return this.#bytes;
  }

  /** @param storedNumber canonical blocks up to this number are in the database */
  add(executed: ExecutedBlock, storedNumber: number): void {
    if (this.#blocks.has(executed.hashHex)) return;
    const bytes = roughBytes(executed);
    this.#blocks.set(executed.hashHex, { executed, bytes });
    const { number } = executed.block.header;
    let place = this.#ascending.length;
    while (place > 0 && this.#ascending[place - 1]!.block.header.number > number) place--;
    this.#ascending.splice(place, 0, executed);
    this.#bytes += bytes;
    this.trim(storedNumber, executed.hashHex);
  }

  /** Drops the lowest blocks, except for `latest`, as far as the limits require. */
  trim(storedNumber: number, latest: Hex): void {
    const { maxBlocks, maxBytes, maxStoredBytes } = this.#limits;
    let branch: ReadonlySet<Hex> | undefined;
    const isDroppedFirst = ({ hashHex, block: { header } }: ExecutedBlock): boolean => {
      if (hashHex === latest) return false;
      if (branch === undefined && this.#isCanonical(hashHex, header.number)) return true; // PERF: it is not in the branch, whatever is
      branch ??= this.#branchOf(latest);
      return !branch.has(hashHex);
    };
    while (this.#blocks.size > maxBlocks || this.#bytes > Math.min(maxBytes, maxStoredBytes)) {
      const other = this.#ascending.find(isDroppedFirst);
      const lowest = other ?? this.#ascending.find(({ hashHex }) => hashHex !== latest);
      if (lowest === undefined) return;
      const isStored = other !== undefined && other.block.header.number <= storedNumber;
      if (!isStored && this.#blocks.size <= maxBlocks && this.#bytes <= maxBytes) return;
      this.#bytes -= this.#blocks.get(lowest.hashHex)!.bytes;
      this.#blocks.delete(lowest.hashHex);
      this.#ascending.splice(this.#ascending.indexOf(lowest), 1);
    }
  }

  /** The block, and those of its ancestors that are not canonical. */
  #branchOf(latest: Hex): ReadonlySet<Hex> {
    const branch = new Set([latest]);
    for (let at = this.get(latest)?.parentHashHex; at !== undefined; ) {
      const executed = this.get(at);
      if (executed === undefined || this.#isCanonical(at, executed.block.header.number)) break;
      branch.add(at);
      at = executed.parentHashHex;
    }
    return branch;
  }
}

function roughBytes(executed: ExecutedBlock): number {
  const { changes, receipts, block, packedNodesBytes } = executed;
  let bytes = 0;
  if (changes.records === undefined) {
    for (const { storage } of changes.accounts) bytes += BYTES_PER_ACCOUNT + BYTES_PER_SLOT * storage.length;
  } else {
    bytes += changes.records.bytes.length; // objects of them exist only where a child was executed before the block was stored
  }
  for (const { code } of changes.codes) bytes += code.length;
  if (packedNodesBytes !== undefined) bytes += packedNodesBytes;
  else for (const { rlp } of executed.nodes) bytes += BYTES_PER_NODE + (rlp?.length ?? 0);
  for (const { logs } of receipts) {
    bytes += BYTES_PER_RECEIPT;
    for (const { data } of logs) bytes += BYTES_PER_LOG + data.length;
  }
  return bytes + roughBodyBytes(block);
}

/** Rough size of the decoded transactions, which cache their encodings. */
export function roughBodyBytes({ transactions }: Block): number {
  let bytes = 0;
  for (const { data } of transactions) bytes += BYTES_PER_TRANSACTION + 2 * data.length;
  return bytes;
}

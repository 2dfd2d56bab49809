import { bytesToHex, concatBytes, keccak256 } from "@rnode/primitives";
import type { RowTable } from "../database/table.ts";
import { storageError } from "../errors.ts";
import { isLeafNode, type LeafReader } from "./leaf-reader.ts";
import { applyNodeDelta } from "./node-delta.ts";
import { EPOCH_BLOCKS, epochOf, readEpochBits } from "./node-epochs.ts";
import { NodeVersionFinder } from "./node-history.ts";
import { nodeKeyOf } from "./node-key.ts";
import { CHILDREN, EMPTY_BRANCH, HASH_SIZE } from "./node-shape.ts";
import { BranchRestoring, childChangesOf, formOf, mayChangeChild, wholeNode } from "./node-version.ts";

/*
 * Trie nodes after an old block. A node's versions are collected from that block upwards, until one is complete (a whole node, no
 * node, or a branch whose children are all known by then); otherwise the node of the head follows. They are then applied
 * backwards. Omitted hashes follow from the old versions of the children, which are read in the same way: the versions of the
 * parent show in which blocks those changed.
 */

/** Where the history of nodes is read. */
export interface NodeHistoryTables {
  readonly nodes: Pick<RowTable, "read">;
  readonly nodeHistory: RowTable;
  readonly nodeEpochs: RowTable;
}

interface Step {
  readonly block: number;
  readonly version: Uint8Array;
}

const ALL_CHILDREN = 0xffff;
const ALL_BLOCKS = 0xffff_ffff;

/** The versions of one node, from an old block upwards. */
class VersionChain {
  readonly owner: Uint8Array | undefined;
  readonly path: Uint8Array;
  readonly key: Uint8Array;
  /** the block after which the node is wanted */
  readonly number: number;
  readonly steps: Step[] = [];
  /** no later version is needed */
  isClosed = false;
  /** the first block that was not looked at */
  nextBlock: number;
  /** the children of the branch, one bit each, that the last steps determine */
  #named = 0;

  constructor(owner: Uint8Array | undefined, path: Uint8Array, number: number) {
    this.owner = owner;
    this.path = path;
    this.key = nodeKeyOf(owner, path);
    this.number = number;
    this.nextBlock = number + 1;
  }

  add(block: number, version: Uint8Array): void {
    this.steps.push({ block, version });
    this.nextBlock = block + 1;
    const form = formOf(version);
    if (form === "children") {
      const { leftOut, given, absent } = childChangesOf(version);
      this.#named |= leftOut | given | absent;
    } else {
      this.#named = 0; // a difference of another form needs the whole node after it
    }
    this.isClosed = form === "absent" || form === "whole" || this.#named === ALL_CHILDREN;
  }
}

export class OldNodeReader {
  readonly #tables: NodeHistoryTables;
  readonly #leaves: LeafReader;
  readonly #finder: NodeVersionFinder;
  #head = 0;

  constructor(tables: NodeHistoryTables, leaves: LeafReader) {
    this.#tables = tables;
    this.#leaves = leaves;
    this.#finder = new NodeVersionFinder(tables.nodeHistory);
  }

  /** Call it after a write. */
  forget(): void {
    this.#finder.forget();
  }

  /** The node after block `number`. The history must be complete up to block `head`. */
  read(number: number, head: number, owner: Uint8Array | undefined, path: Uint8Array): Uint8Array | undefined {
    this.#head = head;
    const chain = new VersionChain(owner, path, number);
    this.#collect([chain]);
    return this.#nodeOf(chain);
  }

  /** Completes chains, block by block. PERF: one read per epoch and node; children of one branch share it. */
  #collect(chains: readonly VersionChain[]): void {
    const head = this.#head;
    let open = chains.filter(({ isClosed, nextBlock }) => !isClosed && nextBlock <= head);
    const first = Math.min(...open.map(({ nextBlock }) => nextBlock));
    for (let epoch = epochOf(first); epoch <= head && open.length > 0; epoch += EPOCH_BLOCKS) {
      const last = epoch + EPOCH_BLOCKS - 1;
      for (const chain of open) {
        if (chain.nextBlock > last) continue;
        const bits = last > head ? ALL_BLOCKS : readEpochBits(this.#tables.nodeEpochs, epoch, chain.key);
        for (let block = Math.max(chain.nextBlock, epoch); bits !== 0 && block <= Math.min(last, head); block++) {
          if (((bits >>> (block - epoch)) & 1) === 0) continue;
          this.#look(chain, block);
          if (chain.isClosed) break;
        }
      }
      open = open.filter(({ isClosed }) => !isClosed);
    }
  }

  #look(chain: VersionChain, block: number): void {
    const version = this.#finder.find(block, chain.key);
    if (version !== undefined) chain.add(block, version);
  }

  #nodeOf(chain: VersionChain): Uint8Array | undefined {
    const node = this.#restore(chain);
    if (node !== undefined && !isLeafNode(node)) return node;
    if (node === undefined && chain.isClosed) return undefined;
    return this.#leaves.readAt(chain.number, chain.owner, chain.path, node);
  }

  /** @returns a leaf may have another value; `undefined`: there is no row */
  #restore(chain: VersionChain): Uint8Array | undefined {
    const { key, steps } = chain;
    const last = chain.isClosed ? steps.at(-1)!.version : undefined;
    const isNamed = last !== undefined && formOf(last) === "children";
    let node = last === undefined ? this.#tables.nodes.read(key) : isNamed ? EMPTY_BRANCH : wholeNode(last);
    let branch: BranchRestoring | undefined;
    /** for each child whose hash was left out: the index of the step before which it is wanted */
    const wanted = new Array<number>(CHILDREN).fill(-1);
    for (let index = steps.length - (last === undefined || isNamed ? 1 : 2); index >= 0; index--) {
      const { version } = steps[index]!;
      const form = formOf(version);
      if (node === undefined) throw damaged(key);
      if (form === "children") {
        branch ??= new BranchRestoring(node);
        const changes = childChangesOf(version);
        branch.apply(changes);
        for (let nibble = 0; nibble < CHILDREN; nibble++) {
          if ((((changes.given | changes.absent) >> nibble) & 1) === 1) wanted[nibble] = -1;
          if (((changes.leftOut >> nibble) & 1) === 1) wanted[nibble] = index;
        }
        continue;
      }
      if (branch !== undefined) {
        this.#addHashes(branch, chain, wanted);
        node = branch.encoded();
        branch = undefined;
        wanted.fill(-1);
      }
      node = applyNodeDelta(version, 1, node);
    }
    if (branch === undefined) return node;
    this.#addHashes(branch, chain, wanted);
    return branch.encoded();
  }

  /** @param wanted for each child: the index of the step before which its hash is wanted; −1: it is not */
  #addHashes(branch: BranchRestoring, parent: VersionChain, wanted: readonly number[]): void {
    const children: VersionChain[] = [];
    const nibbles: number[] = [];
    for (const [nibble, index] of wanted.entries()) {
      if (index < 0) continue;
      const child = new VersionChain(parent.owner, childPath(parent.path, nibble), parent.steps[index]!.block - 1);
      for (let at = index; at < parent.steps.length && !child.isClosed; at++) {
        const { block, version } = parent.steps[at]!;
        if (mayChangeChild(version, nibble)) this.#look(child, block);
      }
      // No other block up to the parent's last step can have changed it; if none of the parent's versions is complete, no block
      // up to the head.
      if (!child.isClosed) child.nextBlock = parent.isClosed ? parent.nextBlock : this.#head + 1;
      children.push(child);
      nibbles.push(nibble);
    }
    this.#collect(children);
    for (const [i, child] of children.entries()) {
      const node = this.#nodeOf(child);
      if (node === undefined || node.length < HASH_SIZE) throw damaged(child.key);
      branch.setHash(nibbles[i]!, keccak256(node));
    }
  }
}

/**
 * The node before a block, from its version and the row after the block.
 *
 * @param childBefore the child before the block; called for those whose hashes were omitted
 * @returns `undefined`: there was no node
 */
export function versionBefore(
  key: Uint8Array,
  version: Uint8Array,
  nodes: Pick<RowTable, "read">,
  childBefore: (key: Uint8Array) => Uint8Array | undefined,
): Uint8Array | undefined {
  const form = formOf(version);
  if (form === "absent" || form === "whole") return wholeNode(version);
  const next = nodes.read(key);
  if (next === undefined) throw damaged(key);
  if (form === "difference") return applyNodeDelta(version, 1, next);
  const branch = new BranchRestoring(next);
  const changes = childChangesOf(version);
  branch.apply(changes);
  for (let nibble = 0; nibble < CHILDREN; nibble++) {
    if (((changes.leftOut >> nibble) & 1) === 0) continue;
    const child = childPath(key, nibble);
    const node = childBefore(child);
    if (node === undefined) throw damaged(child);
    branch.setHash(nibble, keccak256(node));
  }
  return branch.encoded();
}

const childPath = (path: Uint8Array, nibble: number): Uint8Array => concatBytes(path, Uint8Array.of(nibble));

function damaged(key: Uint8Array): Error {
  return storageError("storage/corrupted", { row: `history of trie node ${bytesToHex(key)}`, reason: "a version is missing" });
}

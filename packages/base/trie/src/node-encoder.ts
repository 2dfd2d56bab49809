import { compareBytes, writeKeccak256 } from "@rnode/primitives";
import { type BranchNode, NodeWrite, refSizeAt, type TrieNode } from "./node.ts";
import {
  branchHeaderSize,
  encodeBranch,
  encodeExtension,
  encodeLeaf,
  HASH_REF_PREFIX,
  HASH_REF_SIZE,
  nibbleAt,
  nodeRef,
} from "./node-codec.ts";
import type { TrieNodeChange } from "./node-reader.ts";

/** Encodes the changed nodes of an update, from the root down, and lists the nodes to write. */
export class NodeEncoder {
  readonly #owner: Uint8Array | undefined;
  readonly #path: Uint8Array;
  readonly #writes: NodeWrite[] = [];
  #hasEmptyWrites = false;
  /** by depth: references to the changed children of the branch being encoded */
  readonly #refs: (Uint8Array | undefined)[][] = [];

  /** @param path path of the current node, shared with the updater; nibbles beyond its depth are stale */
  constructor(owner: Uint8Array | undefined, path: Uint8Array) {
    this.#owner = owner;
    this.#path = path;
  }

  /** The encoded nodes and `deletions`, in the order of their paths. */
  listed(deletions: readonly TrieNodeChange[]): TrieNodeChange[] {
    const writes = this.#hasEmptyWrites
      ? this.#writes.filter(({ rlp, before }) => rlp !== undefined || before !== undefined)
      : this.#writes;
    if (deletions.length === 0) return writes;
    return [...deletions, ...writes].sort((a, b) => compareBytes(a.path, b.path));
  }

  /** RLP of the changed node at `depth`. Lists the node, and all changed nodes below it, in the order of their paths. */
  encode(node: TrieNode, depth: number): Uint8Array {
    const write = new NodeWrite(this.#owner, this.#path.slice(0, depth), node.row);
    this.#writes.push(write);
    const rlp = this.#encodeKind(node, depth, write);
    node.changed = false;
    if (rlp.length >= 32 || depth === 0) {
      write.rlp = rlp;
      node.row = rlp;
    } else {
      this.#hasEmptyWrites = true; // inside its parent; if it had a row, the row is deleted
      node.row = undefined;
    }
    return rlp;
  }

  #encodeKind(node: TrieNode, depth: number, write: NodeWrite): Uint8Array {
    switch (node.kind) {
      case "leaf":
        return encodeLeaf(node.bytes, node.from, node.to, node.value);
      case "extension": {
        const { bytes, from, to, child } = node;
        for (let i = 0; i < to - from; i++) this.#path[depth + i] = nibbleAt(bytes, from + i);
        if (!(child instanceof Uint8Array) && child.changed) node.ref = nodeRef(this.encode(child, depth + to - from));
        return encodeExtension(bytes, from, to, node.ref!);
      }
      case "branch":
        return this.#encodeBranch(node, depth, write);
    }
  }

  /** PERF: usually only hashes of children have changed, and are replaced in place. */
  #encodeBranch(node: BranchNode, depth: number, write: NodeWrite): Uint8Array {
    const { nodes, at, rlp: old } = node;
    const rlp = node.reshaped ? old : old.slice();
    const refs = (this.#refs[depth] ??= new Array<Uint8Array | undefined>(16).fill(undefined));
    let isPatch = !node.reshaped;
    let first = 0;
    let last = 0;
    for (let i = 0; i < 16; i++) {
      refs[i] = undefined;
      const child = nodes?.[i];
      if (child === undefined) continue;
      if (child instanceof Uint8Array) {
        refs[i] = child;
        nodes![i] = undefined;
        isPatch = false;
      } else if (child.changed) {
        this.#path[depth] = i;
        const childRlp = this.encode(child, depth + 1);
        const refAt = at[i]!;
        if (!node.reshaped && childRlp.length >= 32 && rlp[refAt] === HASH_REF_PREFIX) {
          writeKeccak256(rlp, refAt + 1, childRlp);
          if (first === 0) first = refAt + 1;
          last = refAt + HASH_REF_SIZE;
        } else {
          refs[i] = nodeRef(childRlp);
          isPatch = false;
        }
      }
    }
    if (isPatch && node.row === old) {
      write.differsFrom = first;
      write.differsTo = last;
    }
    node.rlp = isPatch ? rlp : rebuildBranch(node, rlp, refs);
    node.reshaped = false;
    return node.rlp;
  }
}

/** Encodes the branch again, with references from `old` if `refs` has none, and stores their positions. */
function rebuildBranch(node: BranchNode, old: Uint8Array, refs: (Uint8Array | undefined)[]): Uint8Array {
  const { at } = node;
  for (let i = 0; i < 16; i++) {
    const oldAt = at[i]!;
    if (refs[i] === undefined && oldAt !== 0) refs[i] = old.subarray(oldAt, oldAt + refSizeAt(old, oldAt));
  }
  const rlp = encodeBranch(refs, node.value);
  let next = branchHeaderSize(rlp);
  for (let i = 0; i < 16; i++) {
    const size = refs[i]?.length;
    at[i] = size === undefined ? 0 : next;
    next += size ?? 1;
  }
  return rlp;
}

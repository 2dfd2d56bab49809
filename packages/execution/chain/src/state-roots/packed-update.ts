import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { StateTrieUpdate, TrieNodeChange } from "@rnode/trie";

/*
 * A block's update of the state trie, in one buffer that is passed between threads:
 *   state root 32 ‖ number of storage roots 4 ‖ (address 20 ‖ root 32) each ‖ nodes
 *   node: flags 1 ‖ owner 32 (unless it is the owner of the previous node, or the node is in the account trie) ‖ length of the path 1 ‖ path
 *         ‖ size 2 ‖ RLP (if written) ‖ size 2 ‖ previous RLP (if there was one)
 */

const OWNER_FOLLOWS = 1;
const IN_ACCOUNT_TRIE = 2;
const IS_WRITTEN = 4;
const WAS_THERE = 8;

const ROOTS_AT = 32;
const ROOT_SIZE = 52;

export function packUpdate({ stateRoot, storageRoots, nodes }: StateTrieUpdate): Uint8Array<ArrayBuffer> {
  const nodesAt = ROOTS_AT + 4 + ROOT_SIZE * storageRoots.size;
  let size = nodesAt;
  let lastOwner: Uint8Array | undefined;
  for (const { owner, path, rlp, before } of nodes) {
    if (owner !== undefined && owner !== lastOwner) {
      size += 32;
      lastOwner = owner;
    }
    size += 2 + path.length;
    if (rlp !== undefined) size += 2 + rlp.length;
    if (before !== undefined) size += 2 + before.length;
  }
  const packed = new Uint8Array(size);
  packed.set(stateRoot);
  new DataView(packed.buffer).setUint32(ROOTS_AT, storageRoots.size);
  let at = ROOTS_AT + 4;
  for (const [addressHex, root] of storageRoots) {
    packed.set(hexToBytes(addressHex), at);
    packed.set(root, at + 20);
    at += ROOT_SIZE;
  }
  const writeBytes = (bytes: Uint8Array): void => {
    packed[at] = bytes.length >> 8;
    packed[at + 1] = bytes.length;
    packed.set(bytes, at + 2);
    at += 2 + bytes.length;
  };
  lastOwner = undefined;
  for (const { owner, path, rlp, before } of nodes) {
    const ownerFlag = owner === undefined ? IN_ACCOUNT_TRIE : owner === lastOwner ? 0 : OWNER_FOLLOWS;
    packed[at++] = ownerFlag | (rlp === undefined ? 0 : IS_WRITTEN) | (before === undefined ? 0 : WAS_THERE);
    if (ownerFlag === OWNER_FOLLOWS) {
      packed.set(owner!, at);
      at += 32;
      lastOwner = owner;
    }
    packed[at++] = path.length;
    for (let i = 0; i < path.length; i++) packed[at++] = path[i]!;
    if (rlp !== undefined) writeBytes(rlp);
    if (before !== undefined) writeBytes(before);
  }
  return packed;
}

/** An update whose nodes stay packed until they are needed. */
export class PackedUpdate implements StateTrieUpdate {
  readonly stateRoot: Uint8Array;
  readonly storageRoots: ReadonlyMap<Hex, Uint8Array>;
  readonly #packed: Uint8Array;
  readonly #nodesAt: number;

  /** @param packed is kept; everything is a view into it */
  constructor(packed: Uint8Array) {
    const count = new DataView(packed.buffer, packed.byteOffset).getUint32(ROOTS_AT);
    const storageRoots = new Map<Hex, Uint8Array>();
    let at = ROOTS_AT + 4;
    for (let i = 0; i < count; i++, at += ROOT_SIZE) {
      storageRoots.set(bytesToHex(packed.subarray(at, at + 20)), packed.subarray(at + 20, at + ROOT_SIZE));
    }
    this.stateRoot = packed.subarray(0, ROOTS_AT);
    this.storageRoots = storageRoots;
    this.#packed = packed;
    this.#nodesAt = at;
  }

  /** size of the whole update in bytes */
  get packedBytes(): number {
    return this.#packed.length;
  }

  /** Creates new objects on each access. */
  get nodes(): readonly TrieNodeChange[] {
    const packed = this.#packed;
    const nodes: TrieNodeChange[] = [];
    let at = this.#nodesAt;
    const readBytes = (): Uint8Array => {
      const from = at + 2;
      at = from + ((packed[at]! << 8) | packed[at + 1]!);
      return packed.subarray(from, at);
    };
    let lastOwner: Uint8Array | undefined;
    while (at < packed.length) {
      const flags = packed[at++]!;
      if ((flags & OWNER_FOLLOWS) !== 0) {
        lastOwner = packed.subarray(at, at + 32);
        at += 32;
      }
      const pathAt = at + 1;
      at = pathAt + packed[at]!;
      const path = packed.subarray(pathAt, at);
      const rlp = (flags & IS_WRITTEN) === 0 ? undefined : readBytes();
      const before = (flags & WAS_THERE) === 0 ? undefined : readBytes();
      nodes.push({ owner: (flags & IN_ACCOUNT_TRIE) === 0 ? lastOwner : undefined, path, rlp, before });
    }
    return nodes;
  }
}

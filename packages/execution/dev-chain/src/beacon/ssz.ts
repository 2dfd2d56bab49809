import { createHash } from "node:crypto";
import { bigintToBytes, concatBytes } from "@rnode/primitives";

// Merkle roots of SSZ values. Spec: consensus-specs ssz/simple-serialize.md#merkleization

const CHUNK_BYTES = 32;
const ZERO_CHUNK = new Uint8Array(CHUNK_BYTES);
/** A list of 2^30 bytes has 2^25 chunks; no tree here is deeper. */
const MAX_DEPTH = 40;

const hashPair = (left: Uint8Array, right: Uint8Array): Uint8Array => createHash("sha256").update(left).update(right).digest();

/** roots of trees of zero chunks, by depth */
const ZERO_ROOTS: readonly Uint8Array[] = Array.from({ length: MAX_DEPTH }).reduce<Uint8Array[]>(
  (roots) => [...roots, hashPair(roots.at(-1)!, roots.at(-1)!)],
  [ZERO_CHUNK],
);

/** Depth of the smallest tree with at least `leaves` leaves. */
export const depthFor = (leaves: number): number => Math.ceil(Math.log2(Math.max(1, leaves)));

/** Root of a tree of `depth`, filled up with zero chunks. */
export function merkleRoot(chunks: readonly Uint8Array[], depth = depthFor(chunks.length)): Uint8Array {
  let level = chunks;
  for (let height = 0; height < depth; height++) level = parentsOf(level, height);
  return level[0] ?? ZERO_ROOTS[depth]!;
}

/** The siblings on the way from a leaf to the root, the lowest first. */
export function merkleBranch(chunks: readonly Uint8Array[], index: number, depth: number): Uint8Array[] {
  const branch: Uint8Array[] = [];
  let level = chunks;
  for (let height = 0; height < depth; height++) {
    branch.push(level[(index >> height) ^ 1] ?? ZERO_ROOTS[height]!);
    level = parentsOf(level, height);
  }
  return branch;
}

function parentsOf(level: readonly Uint8Array[], height: number): Uint8Array[] {
  const parents: Uint8Array[] = [];
  for (let i = 0; i < level.length; i += 2) parents.push(hashPair(level[i]!, level[i + 1] ?? ZERO_ROOTS[height]!));
  return parents;
}

/** Whether `leaf` is at `index` below `root`. Spec: consensus-specs phase0 is_valid_merkle_branch */
export function isMerkleBranch(leaf: Uint8Array, branch: readonly Uint8Array[], index: number, root: Uint8Array): boolean {
  const computed = branch.reduce(
    (node, sibling, height) => ((index >> height) & 1 ? hashPair(sibling, node) : hashPair(node, sibling)),
    leaf,
  );
  return Buffer.compare(computed, root) === 0;
}

const littleEndian = (value: bigint, length: number): Uint8Array => bigintToBytes(value, length).reverse();

/** Of uint8 to uint256. */
export const numberRoot = (value: bigint | number): Uint8Array => littleEndian(BigInt(value), CHUNK_BYTES);

function chunksOf(bytes: Uint8Array): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    const chunk = bytes.subarray(at, at + CHUNK_BYTES);
    chunks.push(chunk.length === CHUNK_BYTES ? chunk : concatBytes(chunk, ZERO_CHUNK.subarray(chunk.length)));
  }
  return chunks;
}

/** Of a vector of bytes. */
export const bytesRoot = (bytes: Uint8Array): Uint8Array => merkleRoot(chunksOf(bytes));

const mixInLength = (root: Uint8Array, length: number): Uint8Array => hashPair(root, numberRoot(length));

/** Of a list of at most `limit` bytes. */
export const byteListRoot = (bytes: Uint8Array, limit: number): Uint8Array =>
  mixInLength(merkleRoot(chunksOf(bytes), depthFor(limit / CHUNK_BYTES)), bytes.length);

/** Of a list of at most `limit` composite values, by their roots. */
export const listRoot = (roots: readonly Uint8Array[], limit: number): Uint8Array =>
  mixInLength(merkleRoot(roots, depthFor(limit)), roots.length);

/** Of a container, by the roots of its fields. */
export const containerRoot = (fields: readonly Uint8Array[]): Uint8Array => merkleRoot(fields);

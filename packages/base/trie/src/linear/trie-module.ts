import { hexToBytes, type KeccakLanes } from "@rnode/primitives";
import type { TrieNodeReader } from "../node-reader.ts";
import { badNode, missingNode } from "../trie-errors.ts";
import { TRIE_WASM } from "./trie-wasm.ts";

/** The used part of the WebAssembly interface; the global is not in the language's own library. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
  readonly Memory: new (options: { initial: number; maximum: number; shared: true }) => { readonly buffer: SharedArrayBuffer };
};

/** See assembly/state-trie.ts. All numbers are unsigned, all pointers below 2^31. */
interface TrieExports {
  path(): number;
  rowBuffer(): number;
  stateRoot(): number;
  reset(): void;
  input(bytes: number): number;
  update(length: number): void;
  listedNodes(): number;
  listedCount(): number;
  listedPaths(): number;
  storageRoots(): number;
  storageRootCount(): number;
  clearedOwners(): number;
  clearedCount(): number;
  size(): number;
  lastPass(): number;
  evictBefore(oldest: number): void;
}

/** As in scripts/build-state-trie.mjs */
const INITIAL_PAGES = 3;
const MAX_PAGES = 32_767;
/** Larger than a node of a state trie can be. */
const MAX_ROW_BYTES = 1024;

/** PERF: compiled at first use, once per thread. */
let compiled: object | undefined;

/** An instance of the module with its own memory. */
export class TrieModule {
  readonly calls: TrieExports;
  readonly #memory: { readonly buffer: SharedArrayBuffer };
  #bytes: Uint8Array;
  #numbers: Uint32Array;
  #reader: TrieNodeReader | undefined;

  /** @param lanes `undefined`: the module hashes one message at a time */
  constructor(lanes: KeccakLanes | undefined) {
    compiled ??= new WebAssembly.Module(hexToBytes(TRIE_WASM));
    // Shared, although only one thread uses it, because views of a shared memory stay valid when it grows.
    this.#memory = new WebAssembly.Memory({ initial: INITIAL_PAGES, maximum: MAX_PAGES, shared: true });
    const host = {
      hasLanes: Number(lanes !== undefined),
      hashAll: (messages: number, size: number, ends: number, count: number, digests: number) => {
        const { bytes, numbers } = this;
        const endsAt = ends >> 2;
        lanes!.hashAll(
          bytes.subarray(messages, messages + size),
          numbers.subarray(endsAt, endsAt + count),
          bytes.subarray(digests, digests + 32 * count),
        );
      },
      readNode: (owner: number, depth: number, hash: number, key: number) => this.#readNode(owner, depth, hash, key),
      badNode() {
        throw badNode("not a node of a state trie");
      },
      outOfMemory() {
        throw new RangeError("the state trie needs more memory than WebAssembly can give");
      },
    };
    this.calls = new WebAssembly.Instance(compiled, { host, env: { memory: this.#memory } }).exports as TrieExports;
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#numbers = new Uint32Array(this.#memory.buffer);
  }

  /** The memory at its current size. */
  get bytes(): Uint8Array {
    if (this.#bytes.buffer !== this.#memory.buffer) this.#bytes = new Uint8Array(this.#memory.buffer);
    return this.#bytes;
  }

  /** The memory as 32-bit numbers. */
  get numbers(): Uint32Array {
    if (this.#numbers.buffer !== this.#memory.buffer) this.#numbers = new Uint32Array(this.#memory.buffer);
    return this.#numbers;
  }

  /** Applies the packed changes, and reads nodes that are not in memory from `reader`. @throws errors of the reader */
  update(reader: TrieNodeReader, packed: Uint8Array): void {
    const at = this.calls.input(packed.length);
    this.bytes.set(packed, at);
    this.#reader = reader;
    try {
      this.calls.update(packed.length);
    } finally {
      this.#reader = undefined;
    }
  }

  #readNode(ownerAt: number, depth: number, hashAt: number, keyAt: number): number {
    const { bytes } = this;
    const pathAt = this.calls.path();
    const owner = ownerAt === 0 ? undefined : bytes.slice(ownerAt, ownerAt + 32);
    const path = bytes.slice(pathAt, pathAt + depth);
    const hash = bytes.slice(hashAt, hashAt + 32);
    const key = keyAt === 0 ? undefined : bytes.slice(keyAt, keyAt + 32);
    const rlp = this.#reader!.readNode(owner, path, hash, key);
    if (rlp === undefined) throw missingNode(owner, path, hash);
    if (rlp.length > MAX_ROW_BYTES) throw badNode("too long");
    bytes.set(rlp, this.calls.rowBuffer());
    return rlp.length;
  }
}

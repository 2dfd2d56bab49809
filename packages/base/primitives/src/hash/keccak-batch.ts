import { type NativeKeccak, nativeModules } from "@rnode/native";
import { writeKeccak256 } from "./keccak.ts";

/** Pending hashes that trigger the computation. */
const MAX_COUNT = 256;
/** Longer data is hashed immediately. */
const ROOM = 256 * 1024;
const DIGEST_SIZE = 32;

/** Hashes several messages at a time. */
export interface KeccakLanes {
  /**
   * Writes keccak256 of each message to `digests`, 32 bytes each.
   *
   * @param messages concatenated, at most 256 KiB
   * @param ends end offset of each message in `messages`; at most 256
   */
  hashAll(messages: Uint8Array, ends: Uint32Array, digests: Uint8Array): void;
}

/** Native code that hashes several messages at a time, and its memory: data, then ends, then digests. */
class Lanes implements KeccakLanes {
  readonly #native: NativeKeccak;
  readonly #at: number;
  readonly #laneCount: number;
  readonly #data: Uint8Array;
  readonly #ends: Uint32Array;
  readonly #digests: Uint8Array;
  #count = 0;
  #used = 0;
  readonly #targets: Uint8Array[] = [];
  readonly #places = new Uint32Array(MAX_COUNT);

  constructor(native: NativeKeccak) {
    this.#native = native;
    this.#at = native.buffer();
    this.#laneCount = native.laneCount();
    const { buffer } = native.memory;
    this.#data = new Uint8Array(buffer, this.#at, ROOM);
    this.#ends = new Uint32Array(buffer, this.#at + ROOM, MAX_COUNT);
    this.#digests = new Uint8Array(buffer, this.#at + ROOM + 4 * MAX_COUNT, DIGEST_SIZE * MAX_COUNT);
  }

  add(data: Uint8Array, target: Uint8Array, at: number): void {
    const { length } = data;
    if (this.#count === MAX_COUNT || this.#used + length > ROOM) this.flush();
    this.#data.set(data, this.#used);
    this.#used += length;
    this.#ends[this.#count] = this.#used;
    this.#targets[this.#count] = target;
    this.#places[this.#count++] = at;
  }

  hashAll(messages: Uint8Array, ends: Uint32Array, digests: Uint8Array): void {
    this.flush(); // frees the memory of the pending messages
    this.#data.set(messages);
    this.#ends.set(ends);
    this.#run(ends.length);
    digests.set(this.#digests.subarray(0, DIGEST_SIZE * ends.length));
  }

  #run(count: number): void {
    const at = this.#at;
    this.#native.hashAll(at, at + ROOM, count, at + ROOM + 4 * MAX_COUNT, this.#laneCount);
  }

  flush(): void {
    const count = this.#count;
    if (count === 0) return;
    this.#run(count);
    const digests = this.#digests;
    for (let i = 0, from = 0; i < count; i++) {
      const target = this.#targets[i]!;
      const end = from + DIGEST_SIZE;
      for (let to = this.#places[i]!; from < end; from++, to++) target[to] = digests[from]!;
    }
    this.#targets.length = 0; // releases the references
    this.#count = 0;
    this.#used = 0;
  }
}

const keccak = nativeModules?.keccak;
const lanes = keccak !== undefined && keccak.laneCount() !== 0 ? new Lanes(keccak) : undefined;

/** `undefined` without native code, or if the processor has no SIMD lanes for it. */
export const keccakLanes: KeccakLanes | undefined = lanes;

/**
 * Writes keccak256 of `data` to the 32 bytes of `target` from `at`, at the latest in `flushKeccak256`. The caller may overwrite
 * `data` at once. PERF: with AVX-512, eight hashes take the time of two; with AVX2, four take the time of one. Without SIMD the
 * hash is computed immediately.
 */
export function addKeccak256(data: Uint8Array, target: Uint8Array, at: number): void {
  if (lanes === undefined || data.length > ROOM) writeKeccak256(target, at, data);
  else lanes.add(data, target, at);
}

/** Computes all pending hashes, of all callers. */
export function flushKeccak256(): void {
  lanes?.flush();
}

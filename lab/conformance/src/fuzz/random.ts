import { hexToBytes } from "@rnode/primitives";

/** Numbers at a boundary of something: words, gas, sizes, signs. */
const EDGE_NUMBERS: readonly bigint[] = [
  ...[0n, 1n, 2n, 3n, 7n, 8n, 0x1fn, 0x20n, 0x21n, 0x3fn, 0x40n, 0xffn, 0x100n, 0x101n, 0x3ffn, 0x400n, 0xffffn],
  ...[31n, 32n, 63n, 64n, 128n, 160n, 255n].flatMap((bits) => [(1n << bits) - 1n, 1n << bits, (1n << bits) + 1n]),
  ...[0n, 1n, 2n, 0x20n].map((below) => (1n << 256n) - 1n - below),
];

/** A reproducible source of choices (splitmix-like steps of 32 bits over a 128-bit state). */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed any integer up to 2^53 */
  constructor(seed: number) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = 0x9e3779b9;
    for (let i = 0; i < 15; i++) this.uint32();
  }

  /** A small and fast counter-based generator (sfc32): it passes PractRand, is short and needs no bigint. */
  uint32(): number {
    const sum = (this.#a + this.#b + this.#counter++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** 0 … `bound` − 1 */
  below(bound: number): number {
    return Math.floor((this.uint32() / 2 ** 32) * bound);
  }

  /** `from` … `to`, both included */
  between(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  /** true once in `n` times */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  /** by weights */
  weighted<T>(rows: readonly (readonly [weight: number, item: T])[]): T {
    let at = this.below(rows.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, item] of rows) {
      at -= weight;
      if (at < 0) return item;
    }
    throw new Error("no weights");
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.uint32() >>> 24);
  }

  /** below 2^256: mostly boundary values and small numbers */
  word(): bigint {
    const kind = this.below(8);
    if (kind < 3) return this.pick(EDGE_NUMBERS);
    if (kind < 5) return BigInt(this.below(512));
    if (kind < 6) return BigInt.asUintN(256, -BigInt(this.below(300)));
    const hex = [...this.bytes(this.between(1, 32))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    return BigInt(`0x${hex}`);
  }
}

export const address = (hex: string): Uint8Array => hexToBytes(`0x${hex.padStart(40, "0")}`);

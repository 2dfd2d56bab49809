/** Multipliers of XXH32 (xxhash_spec.md). */
const [P1, P2, P3, P4, P5] = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1] as const;
const STRIPE = 16;

/** State of an XXH32, as plain data. */
export interface Xxh32Progress {
  readonly lanes: Uint32Array;
  /** up to 15 bytes that fill no stripe yet */
  readonly rest: Uint8Array;
  readonly sizeBytes: number;
}

/** XXH32 with the seed 0 of bytes in pieces. */
export class Xxh32 {
  #lanes: Uint32Array;
  #rest: Uint8Array;
  #sizeBytes: number;

  constructor({ lanes, rest, sizeBytes }: Xxh32Progress = START) {
    this.#lanes = lanes.slice();
    this.#rest = rest;
    this.#sizeBytes = sizeBytes;
  }

  static of(bytes: Uint8Array): number {
    const hash = new Xxh32();
    hash.push(bytes);
    return hash.digest();
  }

  get progress(): Xxh32Progress {
    return { lanes: this.#lanes.slice(), rest: this.#rest, sizeBytes: this.#sizeBytes };
  }

  push(bytes: Uint8Array): void {
    this.#sizeBytes += bytes.length;
    let from = 0;
    if (this.#rest.length > 0) {
      from = Math.min(bytes.length, STRIPE - this.#rest.length);
      const stripe = Buffer.concat([this.#rest, bytes.subarray(0, from)]);
      this.#rest = stripe;
      if (stripe.length < STRIPE) return;
      this.#take(stripe, 0, STRIPE);
    }
    const end = bytes.length - ((bytes.length - from) % STRIPE);
    this.#take(bytes, from, end);
    this.#rest = bytes.slice(end);
  }

  #take(bytes: Uint8Array, from: number, end: number): void {
    let [a, b, c, d] = this.#lanes as unknown as [number, number, number, number];
    for (let at = from; at < end; at += STRIPE) {
      a = Math.imul(rotated(a + Math.imul(wordAt(bytes, at), P2), 13), P1);
      b = Math.imul(rotated(b + Math.imul(wordAt(bytes, at + 4), P2), 13), P1);
      c = Math.imul(rotated(c + Math.imul(wordAt(bytes, at + 8), P2), 13), P1);
      d = Math.imul(rotated(d + Math.imul(wordAt(bytes, at + 12), P2), 13), P1);
    }
    this.#lanes.set([a, b, c, d]);
  }

  digest(): number {
    const [a, b, c, d] = this.#lanes as unknown as [number, number, number, number];
    const rest = this.#rest;
    let hash = this.#sizeBytes >= STRIPE ? rotated(a, 1) + rotated(b, 7) + rotated(c, 12) + rotated(d, 18) : P5;
    hash = (hash + this.#sizeBytes) | 0;
    let at = 0;
    for (; at + 4 <= rest.length; at += 4) hash = Math.imul(rotated(hash + Math.imul(wordAt(rest, at), P3), 17), P4);
    for (; at < rest.length; at++) hash = Math.imul(rotated(hash + Math.imul(rest[at]!, P5), 11), P1);
    hash = Math.imul(hash ^ (hash >>> 15), P2);
    hash = Math.imul(hash ^ (hash >>> 13), P3);
    return (hash ^ (hash >>> 16)) >>> 0;
  }
}

const START: Xxh32Progress = { lanes: Uint32Array.of(P1 + P2, P2, 0, -P1), rest: new Uint8Array(0), sizeBytes: 0 };
const rotated = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));
const wordAt = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);

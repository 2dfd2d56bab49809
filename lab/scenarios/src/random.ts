/** A sequence of numbers that follows from its seed (mulberry32). */
export class Random {
  #state: number;

  /** @param label sequences of one seed with different labels have nothing to do with each other */
  constructor(seed: number, label = "") {
    this.#state = Math.imul(seed, 0x9e3779b1) | 0;
    for (let i = 0; i < label.length; i++) this.#state = Math.imul(this.#state ^ label.charCodeAt(i), 0x01000193) | 0;
  }

  /** A whole number from 0 to below `limit`. */
  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * limit);
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  fraction(): number {
    return this.below(2 ** 30) / 2 ** 30;
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256));
  }
}

/** Integers from 0 to below `limit`; the same seed gives the same sequence (mulberry32). */
export type Random = (limit: number) => number;

export function createRandom(seed: number): Random {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % limit;
  };
}

/** Like `createRandom`, but fractions from 0 to below 1. */
export function createRandomFraction(seed: number): () => number {
  const random = createRandom(seed);
  return () => random(2 ** 32) / 2 ** 32;
}

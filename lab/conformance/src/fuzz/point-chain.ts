import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { BLS_G2, BN254_G2, blsField, NOT_IN_SUBGROUP } from "./precompile-inputs.ts";
import type { Random } from "./random.ts";

/** One operation of a sequence of curve precompile calls, in which the results of some are inputs of the next. */
export type PointStep =
  | { readonly kind: "store"; readonly at: number; readonly bytes: Uint8Array }
  | {
      readonly kind: "call";
      readonly precompile: number;
      readonly at: number;
      readonly length: number;
      readonly outputAt: number;
      readonly outputLength: number;
    };

/** Bytes of memory that a sequence uses, from `CHAIN_AT` on. */
export const CHAIN_AT = 0x400;
export const CHAIN_LENGTH = 0x400;

const store = (at: number, bytes: Uint8Array): PointStep => ({ kind: "store", at: CHAIN_AT + at, bytes });
const call = (precompile: number, at: number, length: number, outputAt: number, outputLength: number): PointStep => ({
  kind: "call",
  precompile,
  at: CHAIN_AT + at,
  length,
  outputAt: CHAIN_AT + outputAt,
  outputLength,
});
const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);
const scalar = (random: Random): Uint8Array => (random.oneIn(2) ? random.bytes(32) : word(random.word()));

/** Random points instead of a fixed list: multiples with random scalars, and the images of random field elements. */
export function pointChain(random: Random, hasBls: boolean): readonly PointStep[] {
  const steps = hasBls && random.oneIn(2) ? blsChain(random) : hasBls && random.oneIn(2) ? blsG2Chain(random) : bn254Chain(random);
  // changes something before the last call
  const last = steps.at(-1);
  if (last?.kind !== "call" || !random.oneIn(5)) return steps;
  const at = last.at - CHAIN_AT + 32 * random.below(last.length >> 5);
  return [...steps.slice(0, -1), store(at, random.oneIn(2) ? new Uint8Array(32) : word(random.word())), last];
}

function bn254Chain(random: Random): PointStep[] {
  const point = (at: number): PointStep[] => [
    store(at, concatBytes(word(1n), word(2n), scalar(random))),
    call(7, at, 0x60, at, 0x40),
  ];
  const kind = random.below(4);
  const [first, second] = [point(0), point(0x40)];
  if (kind === 0) return [...first, ...second, call(6, 0, 0x80, 0x100, 0x40)];
  if (kind === 1) return [...first, store(0x40, scalar(random)), call(7, 0, 0x60, 0x100, 0x40)];
  const twist = random.oneIn(6) ? NOT_IN_SUBGROUP.bn254G2 : BN254_G2;
  if (kind === 2) return [...first, store(0x40, twist), call(8, 0, 0xc0, 0x100, 0x20)];
  // the same point twice, the second time in the place of the negation, so the product is hardly ever 1
  return [
    ...first,
    store(0x40, twist),
    store(0xc0, word(1n)),
    store(0xe0, word(2n)),
    store(0x100, BN254_G2),
    call(8, 0, 0x180, 0x200, 0x20),
  ];
}

function blsChain(random: Random): PointStep[] {
  const mapped = (at: number): PointStep[] =>
    random.oneIn(12) ? [store(at, NOT_IN_SUBGROUP.blsG1)] : [store(at, blsField(random)), call(16, at, 64, at, 128)];
  const kind = random.below(4);
  if (kind === 0) return [...mapped(0), ...mapped(0x80), call(11, 0, 0x100, 0x200, 0x80)];
  if (kind === 1) return [...mapped(0), store(0x80, scalar(random)), call(12, 0, 0xa0, 0x200, 0x80)];
  if (kind === 2) {
    const pairs = random.between(2, 4);
    const terms = Array.from({ length: pairs }, (_, index) => [
      ...mapped(0xa0 * index),
      store(0xa0 * index + 0x80, scalar(random)),
    ]);
    return [...terms.flat(), call(12, 0, 0xa0 * pairs, 0x300, 0x80)];
  }
  const twist = random.oneIn(6) ? NOT_IN_SUBGROUP.blsG2 : BLS_G2;
  return [...mapped(0), store(0x80, twist), call(15, 0, 0x180, 0x200, 0x20)];
}

function blsG2Chain(random: Random): PointStep[] {
  const mapped = (at: number): PointStep[] =>
    random.oneIn(12)
      ? [store(at, NOT_IN_SUBGROUP.blsG2)]
      : [store(at, concatBytes(blsField(random), blsField(random))), call(17, at, 128, at, 256)];
  const kind = random.below(4);
  if (kind === 0) return [...mapped(0), ...mapped(0x100), call(13, 0, 0x200, 0x200, 0x100)];
  if (kind === 1) return [...mapped(0), store(0x100, scalar(random)), call(14, 0, 0x120, 0x200, 0x100)];
  if (kind === 2) {
    const term = (at: number): PointStep[] => [...mapped(at), store(at + 0x100, scalar(random))];
    return [...term(0), ...term(0x120), call(14, 0, 0x240, 0x300, 0x100)];
  }
  return [store(0, blsField(random)), call(16, 0, 64, 0, 128), ...mapped(0x80), call(15, 0, 0x180, 0x200, 0x20)];
}

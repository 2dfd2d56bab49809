// The fields of the translated modules, and their constants in C.
import { NativeField } from "../../../execution/evm/scripts/native-field.mjs";

const bn254 = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const p256 = (1n << 256n) - (1n << 224n) + (1n << 192n) + (1n << 96n) - 1n;
const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const secp256k1 = (1n << 256n) - (1n << 32n) - 977n;
const secp256k1Order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const bls12381 = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;

export const FIELDS = [
  { c: "bn254", prime: bn254, words: 4 },
  { c: "p256", prime: p256, words: 4 },
  { c: "p256_scalars", prime: p256Order, words: 4 },
  { c: "secp256k1", prime: secp256k1, words: 4, special: "secp256k1.h", lanes: "secp256k1-lanes.h" },
  { c: "secp256k1_scalars", prime: secp256k1Order, words: 4 },
  { c: "bls12381", prime: bls12381, words: 6 },
].map(({ special, lanes, ...field }) => ({
  ...new NativeField({ name: field.c, ...field, isPlain: special !== undefined }).description,
  special,
  lanes,
}));

const array = (name, words) =>
  `static const uint64_t ${name}[] = {${words.map((word) => `0x${word.toString(16)}ull`).join(", ")}};`;
const split = (value, words) => Array.from({ length: words }, (_, i) => (value >> BigInt(64 * i)) & 0xffffffffffffffffn);

/** Constants and an inclusion of field.h for each. */
export function fieldsText(fields) {
  return fields
    .flatMap(({ c, words, prime, squared, cubed, factor, special, lanes }) => {
      const isFull = prime >> BigInt(64 * words - 1) === 1n;
      return [
        array(`${c}_p`, [...split(prime, words), factor]),
        array(`${c}_squared`, split(squared, words)),
        array(`${c}_cubed`, split(cubed, words)),
        `#define FIELD ${c}`,
        `#define N ${words}`,
        `#define VARIANT ${words}${isFull ? "full" : ""}`,
        ...(special ? [`#define SPECIAL_MULTIPLY "${special}"`] : []),
        `#include "field.h"`,
        "#undef FIELD",
        "#undef N",
        "#undef VARIANT",
        ...(special ? ["#undef SPECIAL_MULTIPLY"] : []),
        ...(lanes ? [`#include "${lanes}"`] : []),
      ];
    })
    .join("\n");
}

/**
 * The endomorphism (x, y) → (βx, y) = λ·(x, y) of secp256k1, and the lattice of (a, b) with a + b·λ = 0 modulo the order: two short vectors, by the
 * algorithm of Euclid on the order and λ (Guide to Elliptic Curve Cryptography, algorithm 3.74).
 */
function secp256k1Endomorphism() {
  const n = secp256k1Order;
  const lambda = 0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72n;
  const beta = 0x7ae96a2b657c07106e64479eac3434e99cf0497512f58995c1396c28719501een;
  if ((lambda * lambda + lambda + 1n) % n !== 0n || (beta * beta + beta + 1n) % secp256k1 !== 0n)
    throw new Error("no cube roots of one");
  const rows = [
    [n, 0n],
    [lambda, 1n],
  ];
  // remainders r with r ≡ t·λ; those near the square root of the order are short
  while (rows.at(-1)[0] ** 2n >= n) {
    const [[r0, t0], [r1, t1]] = rows.slice(-2);
    rows.push([r0 - (r0 / r1) * r1, t0 - (r0 / r1) * t1]);
  }
  const [[r0, t0], [r1, t1]] = rows.slice(-2);
  const next = [r0 - (r0 / r1) * r1, t0 - (r0 / r1) * t1];
  const length = ([r, t]) => r * r + t * t;
  const [a1, b1] = [r1, -t1];
  const [a2, b2] = length([r0, t0]) < length(next) ? [r0, -t0] : [next[0], -next[1]];
  if ((a1 + b1 * lambda) % n !== 0n || (a2 + b2 * lambda) % n !== 0n) throw new Error("no vectors of the lattice");
  // k = k1 + k2·λ with k2 = −c1·b1 − c2·b2, c1 ≈ k·b2/n, c2 ≈ −k·b1/n, for vectors of determinant n
  const sign = a1 * b2 - a2 * b1 === n ? 1n : -1n;
  const quotient = (b) => ((b << 385n) / n + 1n) >> 1n;
  return { lambda, beta, q1: sign * quotient(b2), q2: sign * -quotient(b1), b1, b2 };
}

/** Generated files that the sources in assembly/ import, by name. They exist only during compilation. */
export function generatedSources() {
  const { lambda, beta, q1, q2, b1, b2 } = secp256k1Endomorphism();
  if (q1 < 0n || q2 < 0n) throw new Error("a quotient is negative");
  const field = new NativeField({ name: "fp", c: "secp256k1", prime: secp256k1, words: 4, isPlain: true });
  field.functions([
    ...[
      "Multiply",
      "Square",
      "Add",
      "Subtract",
      "SubtractTwo",
      "SubtractDouble",
      "Negate",
      "Double",
      "Triple",
      "TimesEight",
      "Invert",
      "Copy",
    ],
  ]);
  field.declare("fpIsOdd", "secp256k1_is_odd", "a: usize", "bool");
  field.declare("lanes", "secp256k1_lanes", "", "u32", "how many `multiplyLanes` can do at once here");
  field.declare(
    "multiplyLanes",
    "secp256k1_multiply_lanes",
    "count: u32, points: usize, odd: u32, digits: usize, constants: usize, generator: usize, sums: usize",
    "u32",
    "See c/secp256k1-lanes.h",
  );
  const scalars = new NativeField({ name: "fn", c: "secp256k1_scalars", prime: secp256k1Order, words: 4 });
  scalars.functions(["Multiply", "Add", "Subtract", "Negate", "Invert"]);
  scalars.declare("fnReadPlain", "secp256k1_scalars_read_plain", "out: usize, bytes: usize", "void");
  scalars.plainConstant("QUOTIENT1", [q1], "2^384 times the fractions of a scalar that make the coefficients of its split");
  scalars.plainConstant("QUOTIENT2", [q2]);
  scalars.plainConstant("HALF_ORDER", [secp256k1Order >> 1n]);
  const x = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n;
  const y = 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n;
  return {
    "field.ts": field.source("// The field of coordinates of secp256k1.", [
      ["CURVE_B", [7n], "y² = x³ + 7"],
      ["GENERATOR", [x, y, beta], "x ‖ y, and β of the endomorphism (x, y) → (βx, y)"],
    ]),
    "scalars.ts": scalars.source("// The field of scalars of secp256k1.", [
      ["LAMBDA", [lambda]],
      ["MINUS_B1", [-b1]],
      ["MINUS_B2", [-b2]],
    ]),
  };
}

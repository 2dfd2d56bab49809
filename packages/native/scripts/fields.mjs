// The fields of the translated modules, and their constants in C.
import { NativeField } from "../../evm/scripts/native-field.mjs";

const bn254 = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const p256 = (1n << 256n) - (1n << 224n) + (1n << 192n) + (1n << 96n) - 1n;
const p256Order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const bls12381 = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;

export const FIELDS = [
  { c: "bn254", prime: bn254, words: 4 },
  { c: "p256", prime: p256, words: 4 },
  { c: "p256_scalars", prime: p256Order, words: 4 },
  { c: "bls12381", prime: bls12381, words: 6 },
].map(({ c, prime, words }) => new NativeField({ name: c, c, prime, words }).description);

const array = (name, words) =>
  `static const uint64_t ${name}[] = {${words.map((word) => `0x${word.toString(16)}ull`).join(", ")}};`;
const split = (value, words) => Array.from({ length: words }, (_, i) => (value >> BigInt(64 * i)) & 0xffffffffffffffffn);

/** Constants and an inclusion of field.h for each. */
export function fieldsText(fields) {
  return fields
    .flatMap(({ c, words, prime, squared, cubed, factor }) => {
      const isFull = prime >> BigInt(64 * words - 1) === 1n;
      return [
        array(`${c}_p`, [...split(prime, words), factor]),
        array(`${c}_squared`, split(squared, words)),
        array(`${c}_cubed`, split(cubed, words)),
        `#define FIELD ${c}`,
        `#define N ${words}`,
        `#define VARIANT ${words}${isFull ? "full" : ""}`,
        `#include "field.h"`,
        "#undef FIELD",
        "#undef N",
        "#undef VARIANT",
      ];
    })
    .join("\n");
}

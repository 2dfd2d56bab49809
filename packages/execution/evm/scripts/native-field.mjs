// Writes the counterpart of a field of assembly/ for native code: the same functions and constants, but elements are words of 64 bits, always below
// the modulus, and the functions are those of packages/base/native/c/field.h.
import { mod } from "./lazy-field.mjs";

/** Functions of field.h: their names there and their parameters behind `out` */
const FUNCTIONS = {
  Multiply: ["multiply", 2],
  Square: ["square", 1],
  Add: ["add", 2],
  Subtract: ["subtract", 2],
  SubtractTwo: ["subtract_two", 3],
  SubtractDouble: ["subtract_double", 2],
  Negate: ["negate", 1],
  Double: ["double", 1],
  Triple: ["triple", 1],
  TimesFour: ["times_four", 1],
  TimesEight: ["times_eight", 1],
  NinePlus: ["nine_plus", 2],
  NineMinus: ["nine_minus", 2],
  TriplePlusDouble: ["triple_plus_double", 2],
  TripleMinusDouble: ["triple_minus_double", 2],
  Invert: ["invert", 1],
  Copy: ["copy", 1],
  Clear: ["clear", 0],
  Plain: ["plain", 1],
  Words: ["copy", 1],
  // elements are always reduced
  AddRaw: ["add", 2],
  AddReduced: ["add", 2],
  SubtractReduced: ["subtract", 2],
  SubtractTwoReduced: ["subtract_two", 3],
  DoubleReduced: ["double", 1],
  Wide: ["multiply", 2],
  Reduce: ["copy", 1],
};

export class NativeField {
  /** @param c its name in C; isPlain: elements are not in Montgomery form */
  constructor({ name, c, prime, words, isPlain = false }) {
    Object.assign(this, { name, c, prime, words, size: 8 * words, lines: [] });
    this.radix = isPlain ? 1n : 1n << BigInt(64 * words);
  }

  /** The data that packages/base/native needs for the field's constants in C */
  get description() {
    const { c, prime, words, radix } = this;
    return { c, words, prime, squared: radix ** 2n % prime, cubed: radix ** 3n % prime, factor: mod(-inverse64(prime), 1n << 64n) };
  }

  split(value) {
    return Array.from({ length: this.words }, (_, i) => (value >> BigInt(64 * i)) & 0xffffffffffffffffn);
  }

  #data(name, values, comment) {
    if (comment) this.lines.push(`/** ${comment} */`);
    const words = values.flatMap((value) => this.split(value)).map((word) => `0x${word.toString(16)}`);
    this.lines.push(`export const ${name}: usize = memory.data<u64>([${words.join(", ")}], 16);`);
  }

  /** Consecutive numbers, without conversion. */
  plainConstant(name, values, comment) {
    this.#data(name, values, comment);
  }

  /** Elements one behind the other. */
  constant(name, values, comment) {
    this.#data(
      name,
      values.map((value) => mod(value * this.radix, this.prime)),
      comment,
    );
  }

  /** @param operations names without the field's name */
  functions(operations) {
    for (const operation of operations) {
      const [c, count] = FUNCTIONS[operation];
      const parameters = ["out", ...["a", "b", "c"].slice(0, count)].map((name) => `${name}: usize`).join(", ");
      this.declare(`${this.name}${operation}`, `${this.c}_${c}`, parameters, "void");
    }
  }

  /** The functions of every field */
  common() {
    this.declare(
      `${this.name}Read`,
      `${this.c}_read`,
      "out: usize, bytes: usize",
      "bool",
      "big-endian → element. @returns whether it is below the modulus",
    );
    this.declare(`${this.name}Write`, `${this.c}_write`, "bytes: usize, a: usize", "void");
    this.declare(`${this.name}IsZero`, `${this.c}_is_zero`, "a: usize", "bool");
  }

  declare(name, c, parameters, result, comment) {
    if (comment) this.lines.push(`/** ${comment} */`);
    this.lines.push(`@external("native", "${c}") export declare function ${name}(${parameters}): ${result};`);
  }

  source(header, constants) {
    this.common();
    const body = this.lines;
    const upper = this.name.toUpperCase();
    this.lines = [header, "", `export const ${upper}_SIZE: usize = ${this.size};`];
    this.constant(`${upper}_ONE`, [1n], "1 in Montgomery form");
    for (const [name, values, comment] of constants) this.constant(name, values, comment);
    return `${[...this.lines, "", ...body].join("\n")}\n`;
  }
}

function inverse64(a) {
  let x = 1n;
  for (let i = 0; i < 7; i++) x = mod(x * (2n - a * x), 1n << 64n);
  return x;
}

// The sources of the prime fields of assembly/precompiles (…-field.ts): unrolled Montgomery multiplication.
//
// An element is `limbs` limbs of `bits` bits, each a u32 in memory, lowest first. With limbs of 28 or 29 bits a whole column of a product
// adds up in an u64 without carries. Every element in memory is below 1.1 p, though not always below p. `lin` forms are limb-wise linear
// combinations, from which a multiple of p, estimated from the top limb, is subtracted.
import { NativeField } from "./native-field.mjs";

const range = (n) => Array.from({ length: n }, (_, i) => i);
const mod = (a, p) => ((a % p) + p) % p;

function power(base, exponent, p) {
  let result = 1n;
  for (let b = mod(base, p), e = exponent; e > 0n; e >>= 1n, b = (b * b) % p) if (e & 1n) result = (result * b) % p;
  return result;
}

const inverse = (a, p) => power(a, p - 2n, p);

class Field {
  /** @param powers of a prime of few powers of two, −1 the lowest: [exponent, sign] of the others */
  constructor({ name, prime, limbs, bits, powers }) {
    Object.assign(this, { name, prime, limbs, bits, powers, size: 4 * limbs, lines: [], operations: [], extras: [] });
    this.radix = 1n << BigInt(bits * limbs);
    this.mask = (1n << BigInt(bits)) - 1n;
    this.p = this.split(prime);
    this.factor = mod(-inverse2(prime, 1n << BigInt(bits)), 1n << BigInt(bits));
  }

  split(value) {
    return range(this.limbs).map((i) =>
      i === this.limbs - 1 ? value >> BigInt(this.bits * i) : (value >> BigInt(this.bits * i)) & this.mask,
    );
  }

  montgomery(value) {
    return mod(value * this.radix, this.prime);
  }

  emit(...lines) {
    this.lines.push(...lines);
  }

  constant(name, values, comment) {
    if (comment) this.emit(`/** ${comment} */`);
    const words = values.flatMap((value) => this.split(value));
    this.emit(`export const ${name}: usize = memory.data<u32>([${words.join(", ")}]);`);
  }

  load(prefix, pointer, offset = 0) {
    for (const i of range(this.limbs)) this.emit(`  const ${prefix}${i} = <u64>load<u32>(${pointer}, ${offset + 4 * i});`);
  }

  /** 2 p − x limb by limb, with the limbs of 2 p represented so that no difference is negative */
  negate(prefix, of, plus) {
    const twice = this.split(2n * this.prime);
    for (const i of range(this.limbs)) {
      const top = i === this.limbs - 1;
      const limb = twice[i] + (i === 0 ? this.mask + 1n : top ? -1n : this.mask);
      this.emit(`  const ${prefix}${i} = ${plus ? `${plus}${i} + ` : ""}<u64>${limb} - ${of}${i};`);
    }
  }

  /** Montgomery reduction of columns, which may be below zero when they are `signed`; the result goes to locals `prefix`0… */
  reduce(prefix, column, signed = false) {
    if (this.powers !== undefined) return this.reduceByPowers(prefix, column);
    const n = this.limbs;
    this.emit(`  let ${prefix}t: ${signed ? "i64" : "u64"} = 0;`);
    for (let k = 0; k < 2 * n - 1; k++) {
      const terms = column(k);
      for (let i = Math.max(0, k - n + 1); i <= Math.min(k - 1, n - 1); i++) terms.push(`${prefix}q${i} * ${this.p[k - i]}`);
      if (terms.length > 0) this.emit(`  ${prefix}t += ${terms.join(" + ")};`);
      if (k < n) {
        this.emit(`  const ${prefix}q${k} = (${prefix}t * ${this.factor}) & ${this.mask};`);
        this.emit(`  ${prefix}t = (${prefix}t + ${prefix}q${k} * ${this.p[0]}) >> ${this.bits};`);
      } else {
        this.emit(`  const ${prefix}${k - n} = ${prefix}t & ${this.mask};`, `  ${prefix}t >>= ${this.bits};`);
      }
    }
    this.emit(`  const ${prefix}${n - 1} = ${prefix}t;`);
  }

  /** The same where multiplying by the prime is a few shifts, and the multiple to be added is the column itself. */
  reduceByPowers(prefix, column) {
    const n = this.limbs;
    this.emit(`  let ${prefix}t: i64 = 0;`);
    for (let k = 0; k < 2 * n - 1; k++) {
      const terms = column(k);
      if (terms.length > 0) this.emit(`  ${prefix}t += <i64>(${terms.join(" + ")});`);
      const shifted = this.powers.flatMap(([exponent, sign]) => {
        const i = k - Math.floor(exponent / this.bits);
        return i < 0 || i >= n ? [] : [`${sign < 0 ? "-" : "+"} (${prefix}q${i} << ${exponent % this.bits})`];
      });
      if (shifted.length > 0) this.emit(`  ${prefix}t = ${prefix}t ${shifted.join(" ")};`);
      const limb = k < n ? `${prefix}q${k}` : `${prefix}${k - n}`;
      this.emit(`  const ${limb} = ${prefix}t & ${this.mask};`, `  ${prefix}t >>= ${this.bits};`);
    }
    this.emit(`  const ${prefix}${n - 1} = ${prefix}t;`);
  }

  product(a, b) {
    return (k) => {
      const terms = [];
      for (let i = Math.max(0, k - this.limbs + 1); i <= Math.min(k, this.limbs - 1); i++) terms.push(`${a}${i} * ${b}${k - i}`);
      return terms;
    };
  }

  square(a, doubled) {
    return (k) => {
      const terms = [];
      for (let i = Math.max(0, k - this.limbs + 1); 2 * i <= k; i++) {
        terms.push(2 * i === k ? `${a}${i} * ${a}${i}` : `${doubled}${i} * ${a}${k - i}`);
      }
      return terms;
    };
  }

  /** Of a field of scalars: what their digits are made of */
  scalars() {
    const { name, limbs } = this;
    this.isScalars = true;
    const upper = name.toUpperCase();
    this.emit(
      "",
      "/** 32 bytes, big-endian → number out of Montgomery form, less the modulus if it is not below */",
      `export function ${name}ReadPlain(out: usize, bytes: usize): void {`,
      `  readBytes(out, bytes, 32, ${limbs}, BITS);`,
      `  normalise(out, ${upper}_MODULUS, ${limbs}, BITS);`,
      "}",
      "",
      "/** A number out of Montgomery form → its four words of 64 bits, lowest first, below the modulus */",
      `export function ${name}Words(out: usize, a: usize): void {`,
      `  memory.copy(PLAIN, a, ${this.size});`,
      `  normalise(PLAIN, ${upper}_MODULUS, ${limbs}, BITS);`,
      `  writeWords(out, PLAIN, ${limbs}, BITS);`,
      "}",
    );
    this.extras.push((native) => {
      native.declare(`${name}ReadPlain`, `${native.c}_read_plain`, "out: usize, bytes: usize", "void");
      native.functions(["Words"]);
    });
  }

  store(prefix, offset = 0) {
    for (const i of range(this.limbs)) this.emit(`  store<u32>(out, <u32>${prefix}${i}, ${offset + 4 * i});`);
  }

  multiplications() {
    const { name } = this;
    this.operations.push("Multiply", "Square");
    this.emit("", `export function ${name}Multiply(out: usize, a: usize, b: usize): void {`);
    this.load("a", "a");
    this.load("b", "b");
    this.reduce("c", this.product("a", "b"));
    this.store("c");
    this.emit("}", "", `export function ${name}Square(out: usize, a: usize): void {`);
    this.load("a", "a");
    for (const i of range(this.limbs - 1)) this.emit(`  const d${i} = a${i} << 1;`);
    this.reduce("c", this.square("a", "d"));
    this.store("c");
    this.emit("}");
  }

  /** Elements c0 + c1·u with u² = −1, one behind the other. Karatsuba's three products are kept as columns, in memory, and reduced after that. */
  quadraticExtension() {
    const { name, size, limbs } = this;
    this.extras.push((native) => {
      native.declare(`${name}2Multiply`, `${native.c}_multiply2`, "out: usize, a: usize, b: usize", "void");
      native.declare(`${name}2Square`, `${native.c}_square2`, "out: usize, a: usize", "void");
    });
    this.emit("", `function ${name}Wide(out: usize, a: usize, b: usize): void {`);
    this.load("a", "a");
    this.load("b", "b");
    const column = this.product("a", "b");
    for (const k of range(2 * limbs - 1)) this.emit(`  store<u64>(out, ${column(k).join(" + ")}, ${8 * k});`);
    this.emit("}", "", `function ${name}Reduce(out: usize, wide: usize): void {`);
    this.reduce("c", (k) => [`load<i64>(wide, ${8 * k})`], true);
    this.store("c");
    this.emit("}", "");
    for (const scratch of ["LOW", "HIGH", "MIDDLE"]) this.emit(`const ${scratch}: usize = memory.data(${16 * limbs}, 16);`);
    for (const scratch of ["LEFT", "RIGHT"]) this.emit(`const ${scratch}: usize = memory.data(${size}, 16);`);
    // added to c0, which would be below zero otherwise
    const last = BigInt(2 * limbs - 2);
    const lift = range(2 * limbs).map((k) => {
      const rest = (2n * this.prime ** 2n) >> (BigInt(this.bits) * BigInt(k));
      return BigInt(k) < last ? rest & this.mask : BigInt(k) === last ? rest : 0n;
    });
    this.emit("/** 2p² */", `const LIFT: usize = memory.data<u64>([${lift.join(", ")}], 16);`);
    this.emit("", `export function ${name}2Multiply(out: usize, a: usize, b: usize): void {`);
    for (const [scratch, of] of [
      ["LEFT", "a"],
      ["RIGHT", "b"],
    ]) {
      for (const i of range(limbs)) {
        this.emit(`  store<u32>(${scratch}, load<u32>(${of}, ${4 * i}) + load<u32>(${of}, ${size + 4 * i}), ${4 * i});`);
      }
    }
    this.emit(`  ${name}Wide(MIDDLE, LEFT, RIGHT);`, `  ${name}Wide(LOW, a, b);`, `  ${name}Wide(HIGH, a + ${size}, b + ${size});`);
    for (const i of range(limbs)) {
      this.emit(
        `  const l${i} = v128.load(LOW, ${16 * i});`,
        `  const h${i} = v128.load(HIGH, ${16 * i});`,
        `  v128.store(LOW, i64x2.add(i64x2.sub(l${i}, h${i}), v128.load(LIFT, ${16 * i})), ${16 * i});`,
        `  v128.store(MIDDLE, i64x2.sub(v128.load(MIDDLE, ${16 * i}), i64x2.add(l${i}, h${i})), ${16 * i});`,
      );
    }
    this.emit(`  ${name}Reduce(out, LOW);`, `  ${name}Reduce(out + ${size}, MIDDLE);`);
    this.emit("}", "", `export function ${name}2Square(out: usize, a: usize): void {`);
    this.load("a", "a");
    this.load("x", "a", size);
    for (const i of range(this.limbs)) this.emit(`  const s${i} = a${i} + x${i};`, `  const d${i} = a${i} << 1;`);
    this.negate("m", "x", "a");
    this.reduce("c", this.product("s", "m"));
    this.reduce("e", this.product("d", "x"));
    this.store("c");
    this.store("e", size);
    this.emit("}");
  }

  /** Σ coefficient·argument. Coefficients are small: their absolute values add up to 16 at most. */
  linear(suffix, coefficients) {
    const n = this.limbs;
    this.operations.push(suffix);
    const names = ["a", "b", "c"].slice(0, coefficients.length);
    const negative = coefficients.filter((c) => c < 0).reduce((sum, c) => sum - c, 0);
    const offset = this.split(BigInt(2 * negative + 1) * this.prime); // one more, so that the estimate stays above zero
    this.emit("", `export function ${this.name}${suffix}(out: usize, ${names.map((x) => `${x}: usize`).join(", ")}): void {`);
    for (const i of range(n)) {
      const terms = coefficients.map((c, j) => {
        const limb = `<i64>load<u32>(${names[j]}, ${4 * i})`;
        return Math.abs(c) === 1 ? `${c < 0 ? "-" : "+"} ${limb}` : `${c < 0 ? "-" : "+"} ${limb} * ${Math.abs(c)}`;
      });
      this.emit(`  const s${i} = <i64>${offset[i]} ${terms.join(" ")};`);
    }
    // carries from below change the top limb by less than 32
    const shift = 40n;
    const reciprocal = (1n << shift) / (this.p[n - 1] + 1n);
    this.emit(`  const q = ((s${n - 1} - 32) * ${reciprocal}) >> ${shift};`);
    for (const i of range(n)) {
      const carry = i === 0 ? "" : ` + (r${i - 1} >> ${this.bits})`;
      this.emit(`  const r${i} = s${i} - q * ${this.p[i]}${carry};`);
    }
    for (const i of range(n)) this.emit(`  store<u32>(out, <u32>${i === n - 1 ? `r${i}` : `(r${i} & ${this.mask})`}, ${4 * i});`);
    this.emit("}");
  }

  /** @returns both sources, by their paths */
  sources(title, constants) {
    const { name, prime } = this;
    const upper = name.toUpperCase();
    const body = this.lines;
    this.lines = [];
    this.emit(
      `// Written by scripts/generate-field.mjs. ${title}`,
      "",
      `import { invert, isBelow, normalise, readBytes, writeBytes${this.isScalars ? ", writeWords" : ""} } from "./field";`,
      "",
    );
    this.emit(`export const ${upper}_LIMBS: i32 = ${this.limbs};`, `export const ${upper}_SIZE: usize = ${this.size};`);
    this.emit(`const BITS: i32 = ${this.bits};`, `const FACTOR: u64 = ${this.factor};`);
    this.constant(`${upper}_MODULUS`, [prime]);
    this.constant(`${upper}_ONE`, [this.montgomery(1n)], "1 in Montgomery form");
    this.constant("PLAIN_ONE", [1n]);
    this.constant("SQUARED_RADIX", [mod(this.radix * this.radix, prime)]);
    this.constant("CUBED_RADIX", [mod(this.radix ** 3n, prime)]);
    for (const [key, values, comment] of constants)
      this.constant(
        key,
        values.map((value) => this.montgomery(value)),
        comment,
      );
    const bytes = Math.ceil(prime.toString(16).length / 2);
    this.emit(
      "",
      `/** ${bytes} bytes, big-endian → element. @returns whether it is below the modulus */`,
      `export function ${name}Read(out: usize, bytes: usize): bool {`,
      `  readBytes(out, bytes, ${bytes}, ${this.limbs}, BITS);`,
      `  if (!isBelow(out, ${upper}_MODULUS, ${this.limbs})) return false;`,
      `  ${name}Multiply(out, out, SQUARED_RADIX);`,
      "  return true;",
      "}",
      "",
      `/** Out of Montgomery form, below the modulus: limbs */`,
      `export function ${name}Plain(out: usize, a: usize): void {`,
      `  ${name}Multiply(out, a, PLAIN_ONE);`,
      `  normalise(out, ${upper}_MODULUS, ${this.limbs}, BITS);`,
      "}",
      "",
      `const PLAIN: usize = memory.data(${this.size}, 8);`,
      "",
      `export function ${name}Write(bytes: usize, a: usize): void {`,
      `  ${name}Plain(PLAIN, a);`,
      `  writeBytes(bytes, PLAIN, ${bytes}, ${this.limbs}, BITS);`,
      "}",
      "",
      "/** 0 or the modulus: nothing else below 1.1 p is congruent to 0 */",
      `export function ${name}IsZero(a: usize): bool {`,
      "  const lowest = load<u32>(a);",
      `  if (lowest != 0 && lowest != ${this.p[0]}) return false;`,
      "  let any: u32 = 0;",
      "  let other: u32 = 0;",
      `  for (let i: usize = 0; i < ${this.size}; i += 4) {`,
      "    any |= load<u32>(a + i);",
      `    other |= load<u32>(a + i) ^ load<u32>(${upper}_MODULUS + i);`,
      "  }",
      "  return any == 0 || other == 0;",
      "}",
      "",
      `/** 1 / a; 0 for 0 */`,
      `export function ${name}Invert(out: usize, a: usize): void {`,
      `  invert(out, a, ${upper}_MODULUS, FACTOR, ${this.limbs}, BITS, ${Math.ceil((2 * prime.toString(2).length) / this.bits) + 0});`,
      `  ${name}Multiply(out, out, CUBED_RADIX);`,
      "}",
      "",
      `export function ${name}Copy(out: usize, a: usize): void {`,
      `  memory.copy(out, a, ${this.size});`,
      "}",
    );
    const native = new NativeField({ name, c: FILES[name].replace(/-field$/, "").replace("-", "_"), prime, words: 4 });
    native.functions([...this.operations, "Plain", "Invert", "Copy"]);
    for (const extra of this.extras) extra(native);
    const nativeTitle = `// Written by scripts/generate-field.mjs: see scripts/native-field.mjs. ${title}`;
    return {
      [`precompiles/${FILES[name]}.ts`]: `${[...this.lines, ...body].join("\n")}\n`,
      [`precompiles/${FILES[name]}-native.ts`]: native.source(nativeTitle, constants),
    };
  }
}

/** a⁻¹ mod 2^k */
function inverse2(a, modulus) {
  let x = 1n;
  for (let i = 0; i < 7; i++) x = mod(x * (2n - a * x), modulus);
  return x;
}

const FILES = { fp: "bn254-field", fq: "p256-field", fn: "p256-scalars" };

// Fp2 on bigints, for the constants
const fp2 = (p) => {
  const multiply = ([a, b], [c, d]) => [mod(a * c - b * d, p), mod(a * d + b * c, p)];
  const raise = (base, exponent) => {
    let result = [1n, 0n];
    for (let b = base, e = exponent; e > 0n; e >>= 1n, b = multiply(b, b)) if (e & 1n) result = multiply(result, b);
    return result;
  };
  const invert = ([a, b]) => {
    const norm = inverse(mod(a * a + b * b, p), p);
    return [mod(a * norm, p), mod(-b * norm, p)];
  };
  return { multiply, raise, invert };
};

function bn254() {
  const x = 4965661367192848881n;
  const prime = 36n * x ** 4n + 36n * x ** 3n + 24n * x ** 2n + 6n * x + 1n;
  const field = new Field({ name: "fp", prime, limbs: 9, bits: 29 });
  field.multiplications();
  field.quadraticExtension();
  field.linear("Add", [1, 1]);
  field.linear("Subtract", [1, -1]);
  field.linear("SubtractTwo", [1, -1, -1]);
  field.linear("SubtractDouble", [1, -2]);
  field.linear("Negate", [-1]);
  field.linear("Double", [2]);
  field.linear("Triple", [3]);
  field.linear("TimesEight", [8]);
  field.linear("NineMinus", [9, -1]);
  field.linear("NinePlus", [9, 1]);
  field.linear("TriplePlusDouble", [3, 2]);
  field.linear("TripleMinusDouble", [3, -2]);
  const { raise, multiply, invert } = fp2(prime);
  const xi = [9n, 1n];
  const frobenius = [1n, 2n, 3n].flatMap((n) => [1n, 2n, 3n, 4n, 5n].flatMap((k) => raise(xi, (k * (prime ** n - 1n)) / 6n)));
  // β of the endomorphism (x, y) → (βx, y), which multiplies by λ (src/precompiles/bn254.ts)
  const beta = 2203960485148121921418603742825762020974279258880205651966n;
  if (mod(beta ** 3n, prime) !== 1n) throw new Error("β is no cube root of one");
  return field.sources("The base field of BN254 (alt_bn128, EIP-196).", [
    ["CURVE_B", [3n], "y² = x³ + 3"],
    ["TWIST_B", multiply([3n, 0n], invert(xi)), "y² = x³ + 3/ξ"],
    ["TWIST_3B", multiply([9n, 0n], invert(xi))],
    ["BETA", [beta]],
    ["FROBENIUS", frobenius, "ξ^(k·(p^n − 1)/6): n = 1, 2, 3, each with k = 1 … 5"],
  ]);
}

/** The curve secp256r1 (FIPS 186-5): the field of coordinates and the field of scalars. */
function p256() {
  const prime = (1n << 256n) - (1n << 224n) + (1n << 192n) + (1n << 96n) - 1n;
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const powers = [
    [256, 1],
    [224, -1],
    [192, 1],
    [96, 1],
  ];
  const field = new Field({ name: "fq", prime, limbs: 9, bits: 29, powers });
  field.multiplications();
  field.linear("Add", [1, 1]);
  field.linear("Subtract", [1, -1]);
  field.linear("SubtractDouble", [1, -2]);
  field.linear("Negate", [-1]);
  field.linear("Double", [2]);
  field.linear("Triple", [3]);
  field.linear("TimesFour", [4]);
  field.linear("TimesEight", [8]);
  const b = 0x5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604bn;
  const x = 0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n;
  const y = 0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n;
  const coordinates = field.sources("The field of coordinates of secp256r1 (P-256).", [
    ["CURVE_B", [b], "y² = x³ − 3x + b"],
    ["GENERATOR", [x, y, 1n], "x, y, z"],
    ["ORDER", [order], "The order of the group as an element of this field"],
  ]);
  const scalars = new Field({ name: "fn", prime: order, limbs: 9, bits: 29 });
  scalars.multiplications();
  scalars.scalars();
  return { ...coordinates, ...scalars.sources("The field of scalars of secp256r1 (P-256).", []) };
}

export const fieldSources = () => ({ ...bn254(), ...p256() });

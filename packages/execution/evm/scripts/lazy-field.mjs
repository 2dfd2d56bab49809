// Unrolled arithmetic of a prime field for WebAssembly, which scripts/generate-bls12-381.mjs writes into a field.ts.
//
// An element x represents x·2^(bits·limbs) modulo p (Montgomery). It is `limbs` limbs of `bits` bits, an i32 each, lowest first,
// padded with zeros to whole vectors of four. In memory every limb is between −8 and 2^bits + 8, except the highest, which is
// signed and holds the rest: an element can be anything within ±2^6·p. Sums and differences are computed limb by limb, four at a
// time, with one carry per limb and without comparisons with p. Products are between −p and 2p if the product of their arguments'
// bounds (in multiples of p) is below 2^(bits·limbs)/p. A whole column of a product, of two products, and of their reduction fits
// into an i64.

const range = (n) => Array.from({ length: n }, (_, i) => i);
export const mod = (a, p) => ((a % p) + p) % p;

export function power(base, exponent, p) {
  let result = 1n;
  for (let b = mod(base, p), e = exponent; e > 0n; e >>= 1n, b = (b * b) % p) if (e & 1n) result = (result * b) % p;
  return result;
}

export const inverse = (a, p) => power(a, p - 2n, p);

/** a⁻¹ mod 2^k */
function inverse2(a, modulus) {
  let x = 1n;
  for (let i = 0; i < 7; i++) x = mod(x * (2n - a * x), modulus);
  return x;
}

/** The columns of a·b by Karatsuba's method on halves, in locals. @returns the terms of column k */
function productColumns(field, a, b) {
  const half = Math.ceil(field.limbs / 2);
  const rest = field.limbs - half;
  const columns = (left, right, n) => (k) => {
    const terms = [];
    for (let i = Math.max(0, k - n + 1); i <= Math.min(k, n - 1); i++) terms.push(`${left(i)} * ${right(k - i)}`);
    return terms.join(" + ");
  };
  const squares = (left, doubled, n) => (k) => {
    const terms = [];
    for (let i = Math.max(0, k - n + 1); 2 * i <= k; i++)
      terms.push(2 * i === k ? `${left(i)} * ${left(i)}` : `${doubled(i)} * ${left(k - i)}`);
    return terms.join(" + ");
  };
  const isSquare = a === b;
  const sum = (prefix, of) => {
    for (const i of range(half)) field.emit(`  const ${prefix}${i} = ${of}${i}${i < rest ? ` + ${of}${i + half}` : ""};`);
  };
  sum("s", a);
  if (isSquare) {
    for (const i of range(field.limbs)) field.emit(`  const d${i} = ${a}${i} << 1;`);
    for (const i of range(half)) field.emit(`  const e${i} = s${i} << 1;`);
  } else sum("t", b);
  const low = isSquare
    ? squares(
        (i) => `${a}${i}`,
        (i) => `d${i}`,
        half,
      )
    : columns(
        (i) => `${a}${i}`,
        (i) => `${b}${i}`,
        half,
      );
  const high = isSquare
    ? squares(
        (i) => `${a}${i + half}`,
        (i) => `d${i + half}`,
        rest,
      )
    : columns(
        (i) => `${a}${i + half}`,
        (i) => `${b}${i + half}`,
        rest,
      );
  const middle = isSquare
    ? squares(
        (i) => `s${i}`,
        (i) => `e${i}`,
        half,
      )
    : columns(
        (i) => `s${i}`,
        (i) => `t${i}`,
        half,
      );
  for (const k of range(2 * half - 1)) {
    field.emit(`  const low${k} = ${low(k)};`);
    if (k < 2 * rest - 1) field.emit(`  const high${k} = ${high(k)};`);
    field.emit(`  const middle${k} = ${middle(k)} - low${k}${k < 2 * rest - 1 ? ` - high${k}` : ""};`);
  }
  return (k) => {
    const terms = [];
    if (k < 2 * half - 1) terms.push(`low${k}`);
    if (k >= half && k < 3 * half - 1) terms.push(`middle${k - half}`);
    if (k >= 2 * half && k < 2 * field.limbs - 1) terms.push(`high${k - 2 * half}`);
    return terms;
  };
}

/** Multiples of p that reductions subtract. */
const MULTIPLES = 64;

export class LazyField {
  constructor({ name, prime, limbs, bits }) {
    const vectors = Math.ceil(limbs / 4);
    Object.assign(this, { name, prime, limbs, bits, vectors, size: 16 * vectors });
    this.radix = 1n << BigInt(bits * limbs);
    this.mask = (1n << BigInt(bits)) - 1n;
    this.p = this.split(prime);
    this.factor = mod(-inverse2(prime, 1n << BigInt(bits)), 1n << BigInt(bits));
    this.lines = [];
  }

  split(value) {
    const { limbs, bits, mask } = this;
    return range(limbs).map((i) => (i === limbs - 1 ? value >> BigInt(bits * i) : (value >> BigInt(bits * i)) & mask));
  }

  montgomery(value) {
    return mod(value * this.radix, this.prime);
  }

  emit(...lines) {
    this.lines.push(...lines);
  }

  words(value) {
    return [...this.split(value), ...Array(4 * this.vectors - this.limbs).fill(0n)];
  }

  /** Consecutive elements, without conversion. */
  plainConstant(name, values, comment) {
    if (comment) this.emit(`/** ${comment} */`);
    this.emit(`export const ${name}: usize = memory.data<i32>([${values.flatMap((value) => this.words(value)).join(", ")}], 16);`);
  }

  constant(name, values, comment) {
    this.plainConstant(
      name,
      values.map((value) => this.montgomery(value)),
      comment,
    );
  }

  load(prefix, pointer) {
    for (const i of range(this.limbs)) this.emit(`  const ${prefix}${i} = <i64>load<i32>(${pointer}, ${4 * i});`);
  }

  /**
   * PERF: written as whole vectors, because sums and differences read whole vectors, and partial writes stall a following vector
   * read.
   */
  store(prefix) {
    const pair = (i) => {
      if (i >= this.limbs) return "0";
      return i + 1 < this.limbs ? `${prefix}${i} | (${prefix}${i + 1} << 32)` : `<i64><u32>${prefix}${i}`;
    };
    for (const v of range(this.vectors)) {
      const low = `i64x2.splat(${pair(4 * v)})`;
      const vector =
        4 * v + 2 < this.limbs
          ? `i64x2.replace_lane(${low}, 1, ${pair(4 * v + 2)})`
          : `i64x2.replace_lane(i64x2.splat(0), 0, ${pair(4 * v)})`;
      this.emit(`  v128.store(out, ${vector}, ${16 * v});`);
    }
  }

  /** Montgomery reduction of columns; the result goes to `out` */
  reduceColumns(column) {
    const { limbs: n, bits, mask, factor, p } = this;
    this.emit("  let sum: i64 = 0;");
    for (let k = 0; k < 2 * this.limbs - 1; k++) {
      const terms = column(k);
      for (let i = Math.max(0, k - n + 1); i <= Math.min(k - 1, n - 1); i++) terms.push(`q${i} * ${p[k - i]}`);
      this.emit(`  sum += ${terms.join(" + ")};`);
      if (k < n) this.emit(`  const q${k} = (sum * ${factor}) & ${mask};`, `  sum = (sum + q${k} * ${p[0]}) >> ${bits};`);
      else this.emit(`  const r${k - n} = sum & ${mask};`, `  sum >>= ${bits};`);
    }
    this.emit(`  const r${n - 1} = sum;`);
    this.store("r");
  }

  multiplications() {
    const { name } = this;
    this.emit("", `export function ${name}Multiply(out: usize, a: usize, b: usize): void {`);
    this.load("a", "a");
    this.load("b", "b");
    this.reduceColumns(productColumns(this, "a", "b"));
    this.emit("}", "", `export function ${name}Square(out: usize, a: usize): void {`);
    this.load("a", "a");
    this.reduceColumns(productColumns(this, "a", "a"));
    this.emit("}");
  }

  /** Products in Fp[u]/(u² + 1): Karatsuba's three products are kept as columns, in memory, and reduced after that. */
  wideProducts() {
    const { name, limbs } = this;
    this.emit("", "/** Columns of a·b, not reduced; `out` is neither of them */");
    this.emit(`export function ${name}Wide(out: usize, a: usize, b: usize): void {`);
    this.storeColumns();
    this.emit("}", "", `export function ${name}Reduce(out: usize, wide: usize): void {`);
    this.reduceColumns((k) => [`load<i64>(wide, ${8 * k})`]);
    this.emit("}", "", "/** low ← low − high, middle ← middle − low − high */");
    this.emit(`export function ${name}WideCombine(low: usize, high: usize, middle: usize): void {`);
    for (const i of range(limbs)) {
      this.emit(
        `  const l${i} = v128.load(low, ${16 * i});`,
        `  const h${i} = v128.load(high, ${16 * i});`,
        `  v128.store(low, i64x2.sub(l${i}, h${i}), ${16 * i});`,
        `  v128.store(high, i64x2.add(l${i}, h${i}), ${16 * i});`,
      );
    }
    for (const i of range(limbs)) {
      this.emit(`  v128.store(middle, i64x2.sub(v128.load(middle, ${16 * i}), v128.load(high, ${16 * i})), ${16 * i});`);
    }
    this.emit("}");
  }

  /**
   * Columns of a·b to memory, by Karatsuba's method on halves of the same length. PERF: those of the halves' products are stored as soon as they
   * are known, which leaves registers for the rest.
   */
  storeColumns() {
    const half = this.limbs / 2;
    const column = (left, right, k) => {
      const terms = [];
      for (let i = Math.max(0, k - half + 1); i <= Math.min(k, half - 1); i++) terms.push(`${left}${i} * ${right}${k - i}`);
      return terms.join(" + ");
    };
    for (const [part, offset] of [
      ["low", 0],
      ["high", half],
    ]) {
      for (const i of range(half)) {
        for (const operand of ["a", "b"]) {
          this.emit(`  const ${part}_${operand}${i} = <i64>load<i32>(${operand}, ${4 * (i + offset)});`);
        }
      }
      for (const k of range(2 * half - 1)) {
        this.emit(`  const ${part}${k} = ${column(`${part}_a`, `${part}_b`, k)};`);
        this.emit(`  store<i64>(out, ${part}${k}, ${8 * (k + 2 * offset)});`);
      }
    }
    this.emit(`  store<i64>(out, 0, ${8 * (2 * half - 1)});`);
    for (const i of range(half)) this.emit(`  const s${i} = low_a${i} + high_a${i};`, `  const t${i} = low_b${i} + high_b${i};`);
    for (const k of range(2 * half - 1)) {
      const at = 8 * (k + half);
      this.emit(`  store<i64>(out, load<i64>(out, ${at}) + ${column("s", "t", k)} - low${k} - high${k}, ${at});`);
    }
  }

  /**
   * Σ coefficient·argument; the coefficients' absolute values add up to 6 at most.
   *
   * @param reduced whether a multiple of p is taken off, which leaves −p/8 … 9p/8
   */
  linear(suffix, coefficients, reduced = false) {
    const { vectors, limbs, bits, mask, p } = this;
    const names = ["a", "b", "c"].slice(0, coefficients.length);
    if (coefficients.reduce((sum, c) => sum + Math.abs(c), 0) > 6) throw new Error(`${suffix}: too large`);
    this.emit("", `export function ${this.name}${suffix}(out: usize, ${names.map((x) => `${x}: usize`).join(", ")}): void {`);
    const multiple = (value, c) => {
      if (c === 1) return value;
      if (c === 2 || c === 4) return `i32x4.shl(${value}, ${c / 2})`;
      if (c === 3) return `i32x4.add(${value}, i32x4.shl(${value}, 1))`;
      throw new Error(`coefficient ${c}`);
    };
    for (const v of range(vectors)) {
      let sum;
      for (const [j, c] of coefficients.entries()) {
        this.emit(`  const ${names[j]}${v} = v128.load(${names[j]}, ${16 * v});`);
        const term = multiple(`${names[j]}${v}`, Math.abs(c));
        if (sum === undefined) sum = c > 0 ? term : `i32x4.neg(${term})`;
        else sum = `i32x4.${c > 0 ? "add" : "sub"}(${sum}, ${term})`;
      }
      this.emit(`  ${reduced ? "let" : "const"} s${v} = ${sum};`);
    }
    if (reduced) {
      // the pending carries into the highest limb are less than its 16 lowest units
      const shift = 40n;
      const lane = (limbs - 1) % 4;
      this.emit(`  const top = <i64>i32x4.extract_lane(s${vectors - 1}, ${lane});`);
      this.emit(
        `  const multiple = MULTIPLES + <isize>((top * ${(1n << shift) / (p[limbs - 1] + 1n)}) >> ${shift}) * ${this.size};`,
      );
      for (const v of range(vectors)) this.emit(`  s${v} = i32x4.sub(s${v}, v128.load(multiple, ${16 * v}));`);
    }
    for (const v of range(vectors)) {
      const lanes = range(4).map((lane) => (4 * v + lane < limbs - 1 ? mask : 4 * v + lane === limbs - 1 ? -1n : 0n));
      this.emit(`  const carry${v} = i32x4.shr_s(s${v}, ${bits});`);
      const kept = `v128.and(s${v}, i32x4(${lanes.join(", ")}))`;
      const before = v === 0 ? "i32x4(0, 0, 0, 0)" : `carry${v - 1}`;
      const carried = `v128.shuffle<i32>(${before}, carry${v}, 3, 4, 5, 6)`;
      // nothing is carried beyond the highest limb
      const last =
        4 * v + 4 > limbs
          ? `v128.and(${carried}, i32x4(${range(4)
              .map((lane) => (4 * v + lane < limbs ? -1 : 0))
              .join(", ")}))`
          : carried;
      this.emit(`  v128.store(out, i32x4.add(${kept}, ${last}), ${16 * v});`);
    }
    this.emit("}");
  }

  /** Limb by limb, without carries: only as an argument of a product */
  rawAddition() {
    this.emit("", "/** Sums of limbs without their carries: for arguments of one product, with others of half their size */");
    this.emit(`export function ${this.name}AddRaw(out: usize, a: usize, b: usize): void {`);
    for (const v of range(this.vectors)) {
      this.emit(`  v128.store(out, i32x4.add(v128.load(a, ${16 * v}), v128.load(b, ${16 * v})), ${16 * v});`);
    }
    this.emit("}");
  }

  source(header, bytes, constants) {
    const { name, prime, limbs, bits, size, vectors, mask } = this;
    const upper = name.toUpperCase();
    const body = this.lines;
    this.lines = [];
    this.emit(...header, "", `import { invert, isBelow, normalise, readBytes, writeBytes } from "../precompiles/field";`, "");
    this.emit(`export const ${upper}_SIZE: usize = ${size};`);
    this.emit(`const BITS: i32 = ${bits};`, `const MASK: i32 = ${mask};`, `const FACTOR: u64 = ${this.factor};`);
    this.plainConstant(`${upper}_MODULUS`, [prime]);
    this.constant(`${upper}_ONE`, [1n], "1 in Montgomery form");
    this.plainConstant("PLAIN_ONE", [1n]);
    this.plainConstant("SQUARED_RADIX", [mod(this.radix * this.radix, prime)]);
    for (const [key, values, comment] of constants) this.constant(key, values, comment);
    this.emit(
      "",
      `/** −${MULTIPLES}p … ${MULTIPLES}p, from 0 on to both sides */`,
      `const MULTIPLES: usize = memory.data(${(2 * MULTIPLES + 1) * size}, 16) + ${MULTIPLES * size};`,
      "",
      "/** The highest limb keeps its sign. */",
      "function carryAll(a: usize): void {",
      "  let carry: i32 = 0;",
      `  for (let i: usize = 0; i < ${4 * (limbs - 1)}; i += 4) {`,
      "    carry += load<i32>(a + i);",
      "    store<i32>(a + i, carry & MASK);",
      "    carry >>= BITS;",
      "  }",
      `  store<i32>(a, load<i32>(a, ${4 * (limbs - 1)}) + carry, ${4 * (limbs - 1)});`,
      "}",
      "",
      `for (let i = 1; i <= ${MULTIPLES}; i++) {`,
      `  for (let j: usize = 0; j < ${4 * limbs}; j += 4) {`,
      `    const up = MULTIPLES + ${size} * i + j;`,
      `    const down = MULTIPLES - ${size} * i + j;`,
      `    store<i32>(up, load<i32>(up - ${size}) + load<i32>(${upper}_MODULUS + j));`,
      `    store<i32>(down, load<i32>(down + ${size}) - load<i32>(${upper}_MODULUS + j));`,
      "  }",
      `  carryAll(MULTIPLES + ${size} * i);`,
      `  carryAll(MULTIPLES - ${size} * i);`,
      "}",
      "",
      `/** ${bytes} bytes, big-endian → element. @returns whether it is below the modulus */`,
      `export function ${name}Read(out: usize, bytes: usize): bool {`,
      `  memory.fill(out, 0, ${size});`,
      `  readBytes(out, bytes, ${bytes}, ${limbs}, BITS);`,
      `  if (!isBelow(out, ${upper}_MODULUS, ${limbs})) return false;`,
      `  ${name}Multiply(out, out, SQUARED_RADIX);`,
      "  return true;",
      "}",
      "",
      "/** Out of Montgomery form, below the modulus: limbs */",
      `export function ${name}Plain(out: usize, a: usize): void {`,
      `  ${name}Multiply(out, a, PLAIN_ONE); // 0 … p`,
      `  normalise(out, ${upper}_MODULUS, ${limbs}, BITS);`,
      "}",
      "",
      `const PLAIN: usize = memory.data(${size}, 16);`,
      "",
      `export function ${name}Write(bytes: usize, a: usize): void {`,
      `  ${name}Plain(PLAIN, a);`,
      `  writeBytes(bytes, PLAIN, ${bytes}, ${limbs}, BITS);`,
      "}",
      "",
      "/** Whether the number itself (out of Montgomery form) is odd */",
      `export function ${name}IsOdd(a: usize): bool {`,
      `  ${name}Plain(PLAIN, a);`,
      "  return (load<u32>(PLAIN) & 1) != 0;",
      "}",
      "",
      "/** Whether it is a multiple of the modulus. Which one it would have to be is seen in the lowest limb. */",
      `export function ${name}IsZero(a: usize): bool {`,
      `  const multiple = (load<i32>(a) * ${mod(inverse2(prime, this.mask + 1n), this.mask + 1n)}) << ${32 - bits} >> ${32 - bits};`,
      `  if (multiple < -${MULTIPLES} || multiple > ${MULTIPLES}) return false;`,
      `  memory.copy(PLAIN, a, ${size});`,
      "  carryAll(PLAIN);",
      `  return memory.compare(PLAIN, MULTIPLES + <isize>multiple * ${size}, ${size}) == 0;`,
      "}",
      "",
      "/** 1 / a; 0 for 0 */",
      `export function ${name}Invert(out: usize, a: usize): void {`,
      `  ${name}Plain(out, a);`,
      `  invert(out, out, ${upper}_MODULUS, FACTOR, ${limbs}, BITS, ${Math.ceil((2 * prime.toString(2).length) / bits)});`,
      `  ${name}Multiply(out, out, SQUARED_RADIX);`,
      "}",
      "",
      `@inline export function ${name}Copy(out: usize, a: usize): void {`,
      ...range(vectors).map((v) => `  v128.store(out, v128.load(a, ${16 * v}), ${16 * v});`),
      "}",
      "",
      `@inline export function ${name}Clear(out: usize): void {`,
      ...range(vectors).map((v) => `  v128.store(out, i32x4(0, 0, 0, 0), ${16 * v});`),
      "}",
    );
    return `${[...this.lines, ...body].join("\n")}\n`;
  }
}

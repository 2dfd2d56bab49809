// The sources of the base field of BLS12-381 and of the constants of its curves: assembly/bls12-381/field.ts and map-constants.ts.
import { inverse, LazyField, mod, power } from "./lazy-field.mjs";
import { NativeField } from "./native-field.mjs";

/** The curve's parameter: p and r are polynomials of it. */
const x = -0xd201000000010000n;
const order = x ** 4n - x ** 2n + 1n;
const prime = ((x - 1n) ** 2n * order) / 3n + x;

/** Fp and Fp2 = Fp[u]/(u² + 1) on bigints and pairs of bigints, for computing the constants */
const fp = {
  of: (a) => mod(a, prime),
  add: (a, b) => mod(a + b, prime),
  subtract: (a, b) => mod(a - b, prime),
  multiply: (a, b) => mod(a * b, prime),
  invert: (a) => inverse(a, prime),
  isZero: (a) => a === 0n,
};
const fp2 = {
  of: (a) => [mod(a, prime), 0n],
  add: ([a, b], [c, d]) => [mod(a + c, prime), mod(b + d, prime)],
  subtract: ([a, b], [c, d]) => [mod(a - c, prime), mod(b - d, prime)],
  multiply: ([a, b], [c, d]) => [mod(a * c - b * d, prime), mod(a * d + b * c, prime)],
  invert: ([a, b]) => {
    const norm = inverse(mod(a * a + b * b, prime), prime);
    return [mod(a * norm, prime), mod(-b * norm, prime)];
  },
  isZero: ([a, b]) => a === 0n && b === 0n,
};

function raise(field, base, exponent) {
  let result = field.of(1n);
  for (let b = base, e = exponent; e > 0n; e >>= 1n, b = field.multiply(b, b)) if (e & 1n) result = field.multiply(result, b);
  return result;
}

/** Polynomials: coefficients, that of 1 first */
function polynomials(field) {
  const zero = field.of(0n);
  const trim = (a) => {
    let length = a.length;
    while (length > 0 && field.isZero(a[length - 1])) length--;
    return a.slice(0, length);
  };
  const add = (a, b) => trim(Array.from({ length: Math.max(a.length, b.length) }, (_, i) => field.add(a[i] ?? zero, b[i] ?? zero)));
  const scale = (a, c) => trim(a.map((value) => field.multiply(value, c)));
  const subtract = (a, b) => add(a, scale(b, field.of(-1n)));
  const multiply = (a, b) => {
    const product = Array(Math.max(a.length + b.length - 1, 0)).fill(zero);
    for (const [i, y] of a.entries())
      for (const [j, z] of b.entries()) product[i + j] = field.add(product[i + j], field.multiply(y, z));
    return trim(product);
  };
  const derive = (a) => trim(a.slice(1).map((value, i) => field.multiply(value, field.of(BigInt(i + 1)))));
  const remainder = (a, monic) => {
    const rest = [...a];
    for (let top = rest.length - 1; top >= monic.length - 1; top--) {
      const factor = rest[top];
      for (const [i, value] of monic.entries()) {
        const at = top - monic.length + 1 + i;
        rest[at] = field.subtract(rest[at], field.multiply(factor, value));
      }
    }
    return trim(rest);
  };
  return { add, scale, subtract, multiply, derive, remainder };
}

/**
 * The isogeny of odd degree from y² = f(x) = x³ + ax + b whose kernel's x coordinates are the zeros of `kernel`, followed by (x, y) → (u²x, u³y):
 * (x, y) → (X(x), y·Y(x)), by Vélu's formulas:
 * X = u²·(x + Σ t/(x − xq) + v/(x − xq)²) over the zeros xq, with t = 2f'(xq) and v = 4f(xq), and Y = u·X'.
 */
function isogeny(field, a, b, kernel, u) {
  const { add, scale, subtract, multiply, derive, remainder } = polynomials(field);
  const f = [b, a, field.of(0n), field.of(1n)];
  const derivative = derive(kernel);
  // Σ g(xq)/(x − xq) = (g·h' mod h)/h
  const n1 = remainder(multiply(scale(derive(f), field.of(2n)), derivative), kernel);
  const n2 = remainder(multiply(scale(f, field.of(4n)), derivative), kernel);
  const squared = multiply(kernel, kernel);
  let xNumerator = multiply([field.of(0n), field.of(1n)], squared);
  xNumerator = add(xNumerator, multiply(n1, kernel));
  // −(n2/h)' = (n2·h' − n2'·h)/h²
  xNumerator = add(xNumerator, subtract(multiply(n2, derivative), multiply(derive(n2), kernel)));
  const yNumerator = subtract(multiply(derive(xNumerator), kernel), scale(multiply(xNumerator, derivative), field.of(2n)));
  return {
    xNumerator: scale(xNumerator, raise(field, u, 2n)),
    xDenominator: squared,
    yNumerator: scale(yNumerator, raise(field, u, 3n)),
    yDenominator: multiply(squared, kernel),
  };
}

const xi = [1n, 1n];
const G1 = {
  x: 0x17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bbn,
  y: 0x08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1n,
};

/** x coordinate of scalar·(x, y) on a curve with a = 0 */
function multiple(point, scalar) {
  let sum;
  for (const bit of scalar.toString(2)) {
    if (sum !== undefined) {
      const slope = fp.multiply(3n * sum.x * sum.x, fp.invert(mod(2n * sum.y, prime)));
      const x = fp.of(slope * slope - 2n * sum.x);
      sum = { x, y: fp.of(slope * (sum.x - x) - sum.y) };
    }
    if (bit === "0") continue;
    if (sum === undefined) sum = point;
    else {
      const slope = fp.multiply(point.y - sum.y, fp.invert(mod(point.x - sum.x, prime)));
      const x = fp.of(slope * slope - sum.x - point.x);
      sum = { x, y: fp.of(slope * (sum.x - x) - sum.y) };
    }
  }
  return sum.x;
}

/** β with (βx, y) = −x²·(x, y) in G1: one of the two cube roots of one */
function beta() {
  for (let a = 2n; ; a++) {
    const root = power(a, (prime - 1n) / 3n, prime);
    if (root === 1n) continue;
    return multiple(G1, x * x) === fp.multiply(root, G1.x) ? root : fp.multiply(root, root);
  }
}

const field = new LazyField({ name: "fp", prime, limbs: 14, bits: 28 });
field.multiplications();
field.wideProducts();
field.rawAddition();
field.linear("Add", [1, 1]);
field.linear("Subtract", [1, -1]);
field.linear("SubtractTwo", [1, -1, -1]);
field.linear("SubtractDouble", [1, -2]);
field.linear("Negate", [-1]);
field.linear("Double", [2]);
field.linear("Triple", [3]);
field.linear("TimesFour", [4]);
field.linear("AddReduced", [1, 1], true);
field.linear("SubtractReduced", [1, -1], true);
field.linear("SubtractTwoReduced", [1, -1, -1], true);
field.linear("DoubleReduced", [2], true);
field.linear("TriplePlusDouble", [3, 2], true);
field.linear("TripleMinusDouble", [3, -2], true);

const frobenius = [1n, 2n, 3n].flatMap((n) => [1n, 2n, 3n, 4n, 5n].flatMap((k) => raise(fp2, xi, (k * (prime ** n - 1n)) / 6n)));
const psi = [3n, 2n].flatMap((n) => fp2.invert(raise(fp2, xi, (prime - 1n) / n)));
/** Big-endian */
const bytes = (value, length) => Array.from({ length }, (_, i) => Number((value >> BigInt(8 * (length - 1 - i))) & 255n));
const rootExponent = [
  "/** (p − 3)/4, 48 bytes, big-endian */",
  `export const ROOT_EXPONENT: usize = memory.data<u8>([${bytes((prime - 3n) / 4n, 48).join(", ")}]);`,
];
field.emit("", ...rootExponent);
const fieldConstants = [
  ["CURVE_B", [4n], "y² = x³ + 4"],
  ["TWIST_B", [4n, 4n], "y² = x³ + 4(1 + u)"],
  ["HALF", [inverse(2n, prime)]],
  ["BETA", [beta()], "(βx, y) = −x²·(x, y) in G1, x the curve's parameter"],
  ["PSI", psi, "ξ^((1 − p)/3) and ξ^((1 − p)/2), ξ = 1 + u"],
  ["FROBENIUS", frobenius, "ξ^(k·(p^n − 1)/6): n = 1, 2, 3, each with k = 1 … 5"],
];
const header = "// Written by scripts/generate-bls12-381.mjs. The base field of BLS12-381 (EIP-2537): see scripts";
const fieldSource = field.source([`${header}/lazy-field.mjs.`], 48, fieldConstants);

const native = new NativeField({ name: "fp", c: "bls12381", prime, words: 6 });
native.functions([
  ...[
    "Multiply",
    "Square",
    "Wide",
    "Reduce",
    "AddRaw",
    "Add",
    "Subtract",
    "SubtractTwo",
    "SubtractDouble",
    "Negate",
    "Double",
    "Triple",
    "TimesFour",
  ],
  ...["AddReduced", "SubtractReduced", "SubtractTwoReduced", "DoubleReduced", "TriplePlusDouble", "TripleMinusDouble"],
  ...["Plain", "Invert", "Copy", "Clear"],
]);
native.declare("fpIsOdd", "bls12381_is_odd", "a: usize", "bool");
native.declare("fpWideCombine", "bls12381_combine_products", "low: usize, high: usize, middle: usize", "void");
native.lines.push(...rootExponent);
const nativeSource = native.source(`${header}/native-field.mjs.`, fieldConstants);

/** A square root, for p ≡ 3 mod 4 */
function root(a) {
  const result = power(a, (prime + 1n) / 4n, prime);
  if (fp.multiply(result, result) !== mod(a, prime)) throw new Error("no square");
  return result;
}

/**
 * The curves y² = x³ + ax + b that elements are mapped to first, z and the isogenies to G1's and G2's curves. RFC 9380 §8.8.1 and §8.8.2; the
 * polynomials of the kernels are the square roots of x_den in its appendices E.2 and E.3.
 */
const curve1 = {
  a: 0x144698a3b8e9433d693a02c96d4982b0ea985383ee66a8d8e8981aefd881ac98936f8da0e0f97f5cf428082d584c1dn,
  b: 0x12e2908d11688030018b12e8753eee3b2016c1f0f24f4070a0b9c14fcef35ef55a23215a316ceaa5d1cc48e98e172be0n,
  z: 11n,
  kernel: [
    0x133341fb0962a34cb0504a9c4fada0a5090d38679b4c040d5d1c3afb023a3409fcc0815fea66d8b02bbef9c8b5a66e07n,
    0x264908af037bcede00d054cf5d4775e83eb6cf63c76b969f8ed174fb59fcff78d201f46f6cfc4ed6552e59ce75177b0n,
    0x1335c502c1f54c49aceea65e87fd7203ba0f626f305fc0cfd606a5dae9f3c8e81a4b3b69600129fabd307c69bf319d39n,
    0x94440f65f408a6e930e16e3e92dd17bf60d6e9679a8d3d58593de55ac23703042d609537eb3549aac234d896ca82944n,
    0x4afe09d5cf4956a23b6b71f59d2b3407b415a774b7be81bbb6fa99cbc798e0ac98ba725a5bc328016b1c268b4766e85n,
    1n,
  ],
  u: fp.invert(11n),
};
const curve2 = {
  a: [0n, 240n],
  b: [1012n, 1012n],
  z: fp2.subtract(fp2.of(0n), [2n, 1n]),
  kernel: [[6n, mod(-6n, prime)], fp2.of(1n)],
  u: fp2.invert(fp2.of(-3n)),
};

function mapConstants(number, arithmetic, { a, b, z, kernel, u }, flat) {
  const minusOne = arithmetic.of(-1n);
  const map = isogeny(arithmetic, a, b, kernel, u);
  const entry = (name, values, comment) => [`${name}${number}`, values.flatMap(flat), comment];
  return [
    entry("A", [a], `y² = x³ + ax + b of the map to G${number}`),
    entry("B", [b]),
    entry("Z", [z]),
    entry("MINUS_B_BY_A", [arithmetic.multiply(minusOne, arithmetic.multiply(b, arithmetic.invert(a)))]),
    entry("B_BY_ZA", [arithmetic.multiply(b, arithmetic.invert(arithmetic.multiply(z, a)))]),
    entry("X_NUMERATOR", map.xNumerator, "the isogeny: coefficients, that of 1 first"),
    entry("X_DENOMINATOR", map.xDenominator),
    entry("Y_NUMERATOR", map.yNumerator),
    entry("Y_DENOMINATOR", map.yDenominator),
  ];
}

const mapHeader =
  "// Written by scripts/generate-bls12-381.mjs. Constants of the maps from field elements to points (RFC 9380), in Montgomery form.";
const allMapConstants = [
  ...mapConstants(1, fp, curve1, (value) => [value]),
  ["ROOT1", [root(-(curve1.z ** 3n))], "of −z³"],
  ...mapConstants(2, fp2, curve2, (value) => value),
  ["ROOT2", [root(-((curve2.z[0] ** 2n + curve2.z[1] ** 2n) ** 3n))], "of −(norm of z)³"],
];
function mapSource(constants) {
  constants.lines.push(mapHeader, "");
  for (const [name, values, comment] of allMapConstants) constants.constant(name, values, comment);
  return `${constants.lines.join("\n")}\n`;
}

export const blsSources = () => ({
  "bls12-381/field.ts": fieldSource,
  "bls12-381/field-native.ts": nativeSource,
  "bls12-381/map-constants.ts": mapSource(new LazyField({ name: "fp", prime, limbs: 14, bits: 28 })),
  "bls12-381/map-constants-native.ts": mapSource(new NativeField({ name: "fp", c: "bls12381", prime, words: 6 })),
});

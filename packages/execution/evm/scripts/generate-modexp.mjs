// The source of assembly/precompiles/modexp-unrolled.ts: Barrett's modular multiplication for moduli of a few limbs, where loops cost more than the
// arithmetic. The algorithm is that of assembly/precompiles/modexp.ts.

const BITS = 29;
const MASK = (1 << BITS) - 1;
/** Limbs for 16, 24, 32, 40, 48 and 64 bytes */
const SIZES = [5, 7, 9, 12, 14, 18];

const range = (n) => Array.from({ length: n }, (_, i) => i);
const lines = [
  "// Written by scripts/generate-modexp.mjs: Barrett's modular multiplication, see modexp.ts.",
  "",
  `import { subtractExcess } from "./limbs";`,
];

/** Column k of a·b, of na and nb limbs */
function column(a, na, b, nb, k) {
  const terms = [];
  for (let i = Math.max(0, k - nb + 1); i <= Math.min(k, na - 1); i++) terms.push(`${a(i)} * ${b(k - i)}`);
  return terms.join(" + ");
}

for (const n of SIZES) {
  lines.push("", `export function multiply${n}(out: usize, a: usize, b: usize, modulus: usize, reciprocal: usize): void {`);
  for (const name of ["a", "b"]) for (const i of range(n)) lines.push(`  const ${name}${i} = <u64>load<u32>(${name}, ${4 * i});`);
  lines.push("  let t: u64 = 0;");
  for (const k of range(2 * n - 1)) {
    lines.push(
      `  t += ${column(
        (i) => `a${i}`,
        n,
        (i) => `b${i}`,
        n,
        k,
      )};`,
      `  const x${k} = t & ${MASK};`,
      `  t >>= ${BITS};`,
    );
  }
  lines.push(`  const x${2 * n - 1} = t;`, "  t = 0;");
  for (const i of range(n + 1)) lines.push(`  const u${i} = <u64>load<u32>(reciprocal, ${4 * i});`);
  // x without its lowest n − 1 limbs times the reciprocal, without the lowest n − 1 columns
  for (let k = n - 1; k < 2 * n + 1; k++) {
    lines.push(
      `  t += ${column(
        (i) => `x${i + n - 1}`,
        n + 1,
        (i) => `u${i}`,
        n + 1,
        k,
      )};`,
    );
    if (k > n) lines.push(`  const q${k - n - 1} = t & ${MASK};`);
    lines.push(`  t >>= ${BITS};`);
  }
  for (const i of range(n)) lines.push(`  const m${i} = <u64>load<u32>(modulus, ${4 * i});`);
  lines.push("  let r: i64 = 0;");
  for (const k of range(n + 1)) {
    lines.push(
      `  r += <i64>(x${k} - (${column(
        (i) => `q${i}`,
        n,
        (i) => `m${i}`,
        n,
        k,
      )}));`,
    );
    lines.push(`  store<u32>(out, <u32>(r & ${MASK}), ${4 * k});`, `  r >>= ${BITS};`);
  }
  lines.push(`  subtractExcess(out, modulus, ${n});`, "}");
}
export const modexpSource = () => ({ "precompiles/modexp-unrolled.ts": `${lines.join("\n")}\n` });

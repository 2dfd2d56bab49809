// Generates inline assembly for x86-64 (BMI2, ADX) for multiplication and squaring modulo p = 2^256 − c of secp256k1: all eight
// words of the product; then the upper four times c are added to the lower four, twice.
const range = (n) => Array.from({ length: n }, (_, i) => i);

const C = "0x1000003d1";
/** The words of the product */
const T = ["r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

function product() {
  const lines = ["movq (%[b]), %%rdx", `mulxq (%[a]), %%${T[0]}, %%${T[1]}`];
  for (const j of [1, 2, 3])
    lines.push(`mulxq ${8 * j}(%[a]), %%rax, %%${T[j + 1]}`, `${j === 1 ? "addq" : "adcq"} %%rax, %%${T[j]}`);
  lines.push(`adcq $0, %%${T[4]}`);
  for (const i of [1, 2, 3]) {
    lines.push(`movq ${8 * i}(%[b]), %%rdx`, "xorl %%eax, %%eax");
    for (const j of range(4)) {
      const high = j === 3 ? T[i + 4] : "rcx";
      lines.push(`mulxq ${8 * j}(%[a]), %%rax, %%${high}`, `adoxq %%rax, %%${T[i + j]}`);
      if (j < 3) lines.push(`adcxq %%rcx, %%${T[i + j + 1]}`);
    }
    lines.push("movl $0, %%eax", `adcxq %%rax, %%${T[i + 4]}`, `adoxq %%rax, %%${T[i + 4]}`);
  }
  return lines;
}

function square() {
  const a = (i) => `${8 * i}(%[a])`;
  return [
    // products of different words
    `movq ${a(0)}, %%rdx`,
    `mulxq ${a(1)}, %%r9, %%r10`,
    `mulxq ${a(2)}, %%rax, %%r11`,
    "addq %%rax, %%r10",
    `mulxq ${a(3)}, %%rax, %%r12`,
    "adcq %%rax, %%r11",
    "adcq $0, %%r12",
    `movq ${a(1)}, %%rdx`,
    "xorl %%r13d, %%r13d",
    `mulxq ${a(2)}, %%rax, %%rcx`,
    "adcxq %%rax, %%r11",
    "adoxq %%rcx, %%r12",
    `mulxq ${a(3)}, %%rax, %%rcx`,
    "adcxq %%rax, %%r12",
    "adoxq %%rcx, %%r13",
    "movl $0, %%eax",
    "adcxq %%rax, %%r13",
    `movq ${a(2)}, %%rdx`,
    `mulxq ${a(3)}, %%rax, %%r14`,
    "addq %%rax, %%r13",
    "adcq $0, %%r14",
    // twice
    "xorl %%r15d, %%r15d",
    "addq %%r9, %%r9",
    ...["r10", "r11", "r12", "r13", "r14", "r15"].map((name) => `adcq %%${name}, %%${name}`),
    // plus the squares
    `movq ${a(0)}, %%rdx`,
    "mulxq %%rdx, %%r8, %%rax",
    "addq %%rax, %%r9",
    ...[1, 2, 3].flatMap((i) => [
      `movq ${a(i)}, %%rdx`,
      "mulxq %%rdx, %%rax, %%rcx",
      `adcq %%rax, %%${T[2 * i]}`,
      `adcq %%rcx, %%${T[2 * i + 1]}`,
    ]),
  ];
}

function reduce() {
  return [
    `movabsq $${C}, %%rdx`,
    "xorl %%eax, %%eax",
    ...range(4).flatMap((i) => [
      `mulxq %%${T[i + 4]}, %%rax, %%rcx`,
      `adoxq %%rax, %%${T[i]}`,
      ...(i < 3 ? [`adcxq %%rcx, %%${T[i + 1]}`] : []),
    ]),
    "movl $0, %%eax",
    "adcxq %%rax, %%rcx",
    "adoxq %%rax, %%rcx",
    // the fifth word is below 2^34
    "mulxq %%rcx, %%rax, %%rcx",
    "addq %%rax, %%r8",
    "adcq %%rcx, %%r9",
    "adcq $0, %%r10",
    "adcq $0, %%r11",
    // a carry adds c once more; no carry follows
    "sbbq %%rax, %%rax",
    "andq %%rdx, %%rax",
    "addq %%rax, %%r8",
    "adcq $0, %%r9",
    "adcq $0, %%r10",
    "adcq $0, %%r11",
    // if adding c carries, the value is not below p
    "movq %%r8, %%r12",
    "movq %%r9, %%r13",
    "movq %%r10, %%r14",
    "movq %%r11, %%r15",
    "addq %%rdx, %%r12",
    "adcq $0, %%r13",
    "adcq $0, %%r14",
    "adcq $0, %%r15",
    ...range(4).map((i) => `cmovcq %%${T[i + 4]}, %%${T[i]}`),
    ...range(4).map((i) => `movq %%${T[i]}, ${8 * i}(%[out])`),
  ];
}

function functionOf(name, parameters, lines, inputs) {
  const clobbers = ["rax", "rcx", "rdx", ...T, "cc", "memory"].map((register) => `"${register}"`).join(", ");
  return [
    `static inline void x86_secp256k1_${name}(word *out, ${parameters}) {`,
    "  __asm__ volatile(",
    ...lines.map((line) => `    "${line}\\n\\t"`),
    `    : : [out] "r"(out), ${inputs} : ${clobbers}`,
    "  );",
    "}",
  ];
}

/** The text of x86-secp256k1.h, which c/secp256k1.h includes. */
export function x86Secp256k1() {
  return `${[
    "/* Written by scripts/x86-secp256k1.mjs. */",
    ...functionOf("multiply", "const word *a, const word *b", [...product(), ...reduce()], `[a] "r"(a), [b] "r"(b)`),
    ...functionOf("square", "const word *a", [...square(), ...reduce()], `[a] "r"(a)`),
  ].join("\n")}\n`;
}

// Generates inline assembly for x86-64 for the arithmetic of fields of 4 and 6 words, because compilers generate slow code for
// carries. Multiplication needs BMI2 and ADX (mulx, and two carry chains at once), which processors have since about 2015;
// x86_has_adx checks for them.
const range = (n) => Array.from({ length: n }, (_, i) => i);

const TEMPORARIES = ["r8", "r9", "r10", "r11", "r12", "r13"];

function assembly(lines, operands) {
  return [`  __asm__ volatile(`, ...lines.map((line) => `    "${line}\\n\\t"`), `    ${operands}`, "  );"];
}

/** The word above the highest, for fields whose modulus has its highest bit set; these have four words */
const EXTRA = "r13";

/** Moves t0 … to `out`, reduced by the modulus if needed. `spare`: the same number of free registers */
function reduceOnce(n, isFull, t, spare) {
  return [
    ...range(n).map((i) => `movq %%${t[i]}, %%${spare[i]}`),
    ...range(n).map((i) => `${i === 0 ? "subq" : "sbbq"} ${8 * i}(%[p]), %%${spare[i]}`),
    ...(isFull ? [`sbbq $0, %%${EXTRA}`] : []),
    ...range(n).map((i) => `cmovcq %%${t[i]}, %%${spare[i]}`),
    ...range(n).map((i) => `movq %%${spare[i]}, ${8 * i}(%[out])`),
  ];
}

/**
 * out ← a·b/2^(64n) mod p, all below p; p[n] is −1/p mod 2^64. Each step multiplies by one word of b, and reduces. If p's highest
 * bit is 0, no carry leaves the highest word.
 */
function multiply(n, isFull) {
  const t = TEMPORARIES.slice(0, n);
  const lines = isFull ? [`xorl %%${EXTRA}d, %%${EXTRA}d`] : [];
  for (const i of range(n)) {
    lines.push(`movq ${8 * i}(%[b]), %%rdx`, "xorl %%eax, %%eax");
    if (i === 0) {
      lines.push(`mulxq (%[a]), %%${t[0]}, %%${t[1]}`);
      for (const j of range(n).slice(1)) {
        lines.push(`mulxq ${8 * j}(%[a]), %%rax, %%${j === n - 1 ? "r14" : t[j + 1]}`, `adcxq %%rax, %%${t[j]}`);
      }
      lines.push("movl $0, %%eax", "adcxq %%rax, %%r14");
    } else {
      for (const j of range(n)) {
        const high = j === n - 1 ? "r14" : "rcx";
        lines.push(`mulxq ${8 * j}(%[a]), %%rax, %%${high}`, `adoxq %%rax, %%${t[j]}`);
        if (j < n - 1) lines.push(`adcxq %%rcx, %%${t[j + 1]}`);
      }
      lines.push("movl $0, %%eax", "adcxq %%rax, %%r14", "adoxq %%rax, %%r14");
      if (isFull) lines.push(`addq %%${EXTRA}, %%r14`, `movl $0, %%${EXTRA}d`, `adcq $0, %%${EXTRA}`);
    }
    lines.push(`movq ${8 * n}(%[p]), %%rdx`, `imulq %%${t[0]}, %%rdx`, "xorl %%eax, %%eax");
    lines.push("mulxq (%[p]), %%rax, %%rcx", `adcxq %%${t[0]}, %%rax`, `movq %%rcx, %%${t[0]}`);
    for (const j of range(n).slice(1)) {
      lines.push(`adcxq %%${t[j]}, %%${t[j - 1]}`, `mulxq ${8 * j}(%[p]), %%rax, %%${t[j]}`, `adoxq %%rax, %%${t[j - 1]}`);
    }
    lines.push("movl $0, %%eax", `adcxq %%rax, %%${t[n - 1]}`, `adoxq %%r14, %%${t[n - 1]}`);
    if (isFull) lines.push(`adcxq %%rax, %%${EXTRA}`, `adoxq %%rax, %%${EXTRA}`);
  }
  lines.push(...reduceOnce(n, isFull, t, SPARE));
  return functionOf("multiply", n, isFull, t, lines);
}

/** Registers of arguments are reused when the arguments are no longer needed. */
const SPARE = ["rax", "rcx", "rdx", "r14", "rsi", "rdi"];

function functionOf(name, n, isFull, t, lines) {
  const used = new Set(["rax", "rcx", "rdx", "r14", ...t, ...(isFull ? [EXTRA] : [])]);
  const clobbers = [...used, "cc", "memory"].map((register) => `"${register}"`).join(", ");
  return [
    `static inline void x86_${name}${n}${isFull ? "full" : ""}(word *out, const word *a, const word *b, const uint64_t *p) {`,
    ...assembly(lines, `: [a] "+&S"(a), [b] "+&D"(b) : [out] "r"(out), [p] "r"(p) : ${clobbers}`),
    "}",
  ];
}

/** out ← a + b mod p */
function add(n, isFull) {
  const t = TEMPORARIES.slice(0, n);
  return functionOf("add", n, isFull, t, [
    ...range(n).map((i) => `movq ${8 * i}(%[a]), %%${t[i]}`),
    ...range(n).map((i) => `${i === 0 ? "addq" : "adcq"} ${8 * i}(%[b]), %%${t[i]}`),
    ...(isFull ? [`movl $0, %%${EXTRA}d`, `adcq $0, %%${EXTRA}`] : []),
    ...reduceOnce(n, isFull, t, SPARE),
  ]);
}

/** out ← a − b mod p */
function subtract(n, isFull) {
  const t = TEMPORARIES.slice(0, n);
  const low = ["eax", "ecx", "edx", "r14d", "esi", "edi"];
  return functionOf("subtract", n, isFull, t, [
    ...range(n).map((i) => `movq ${8 * i}(%[a]), %%${t[i]}`),
    ...range(n).map((i) => `${i === 0 ? "subq" : "sbbq"} ${8 * i}(%[b]), %%${t[i]}`),
    ...range(n).map((i) => `movl $0, %%${low[i]}`),
    ...range(n).map((i) => `cmovcq ${8 * i}(%[p]), %%${SPARE[i]}`),
    ...range(n).map((i) => `${i === 0 ? "addq" : "adcq"} %%${SPARE[i]}, %%${t[i]}`),
    ...range(n).map((i) => `movq %%${t[i]}, ${8 * i}(%[out])`),
  ]);
}

/** The text of x86-field.h, which words.h includes. */
export function x86Field() {
  const fields = [
    [4, false],
    [4, true],
    [6, false],
  ];
  const functions = fields.flatMap(([n, isFull]) => [...multiply(n, isFull), ...add(n, isFull), ...subtract(n, isFull)]);
  return `${["/* Written by scripts/x86-field.mjs. */", ...functions].join("\n")}\n`;
}

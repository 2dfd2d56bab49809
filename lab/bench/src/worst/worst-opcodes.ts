import { asm } from "@rnode/evm/testing";
import { concatBytes } from "@rnode/primitives";
import { type Family, loop, MAIN, noise, OTHER, only, push, single, size, type WorstCase } from "./worst-code.ts";

/** Operands among which the slowest combination of each instruction is searched. */
const OPERANDS: Readonly<Record<string, bigint>> = {
  zero: 0n,
  one: 1n,
  31: 31n,
  "2^64-1": 2n ** 64n - 1n,
  "65 bits": 0x1_9e37_79b9_7f4a_7c15n,
  "2^128-1": 2n ** 128n - 1n,
  "130 bits": 0x2_9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834n,
  "193 bits": 0x1_9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834_1082_276b_f3a2_7251n,
  "2^255": 2n ** 255n,
  "256 bits": 0xf9e3_779b_97f4_a7c1_5f39_cc06_05ce_dc83_4108_2276_bf3a_2725_1d24_7b8d_31c6_54a3n,
  "2^256-1": 2n ** 256n - 1n,
};
const FOR_THREE = ["one", "2^64-1", "130 bits", "193 bits", "256 bits", "2^256-1"];

const BINARY = "ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR".split(" ");
const UNARY = "ISZERO NOT CLZ CALLDATALOAD BLOBHASH".split(" ");
const CONSTANTS = [
  ..."ADDRESS ORIGIN CALLER CALLVALUE CALLDATASIZE CODESIZE GASPRICE RETURNDATASIZE COINBASE TIMESTAMP NUMBER".split(" "),
  ..."PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBBASEFEE PC MSIZE GAS PUSH0".split(" "),
];

const combinations = (count: number, names: readonly string[]): string[][] =>
  count === 0 ? [[]] : combinations(count - 1, names).flatMap((rest) => names.map((name) => [...rest, name]));

/** The instruction on copies of the operands; the result is dropped, or becomes the first operand of the next. */
function withOperands(opcode: string, count: number): Family {
  const names = count === 3 ? FOR_THREE : Object.keys(OPERANDS);
  const variants = combinations(count, names).flatMap((operands): WorstCase[] => {
    const before = operands
      .toReversed()
      .map((name) => `${OPERANDS[name]}`)
      .join(" ");
    const title = `${opcode} (${operands.join(", ")})`;
    const repetitions = opcode === "EXP" ? 16 : 128;
    const dropped = single(title, { before, body: `${`DUP${count} `.repeat(count)} ${opcode} POP`, repetitions });
    if (count !== 2) return [dropped];
    return [dropped, single(`${title}, chained`, { before, body: `DUP2 SWAP1 ${opcode}`, repetitions })];
  });
  return { name: opcode, group: "opcodes", variants };
}

function plainFamilies(): Family[] {
  const simple = (name: string, before: string, body: string | ((i: number) => string), repetitions = 128): Family =>
    only("opcodes", single(name, { before, body, repetitions }));
  return [
    ...CONSTANTS.map((opcode) => simple(opcode, "", `${opcode} POP`)),
    simple("PUSH1", "", "1 POP"),
    simple("PUSH32", "", `${OPERANDS["256 bits"]} POP`),
    simple("JUMPDEST", "", (i) => `:j${i}`),
    simple("JUMP forwards", "", (i) => `@j${i} JUMP :j${i}`),
    simple("JUMP in random order", "", (i) => {
      const next = (n: number): number => (n * 37 + 11) % 128;
      // each block jumps to the block that the permutation has next; the first one is entered by falling into it, the last one left
      return i === 0 ? `@j${next(0)} JUMP :j0 @end JUMP` : `:j${i} @j${next(i)} JUMP ${i === 127 ? ":end" : ""}`;
    }),
    simple("JUMPI not taken", "", (i) => `PUSH0 @j${i} JUMPI :j${i}`),
    simple("JUMPI taken", "", (i) => `1 @j${i} JUMPI :j${i}`),
    ...[1, 2, 8, 16].map((n) => simple(`DUP${n}`, "1 ".repeat(n), `DUP${n} POP`)),
    ...[1, 2, 8, 16].map((n) => simple(`SWAP${n}`, "1 ".repeat(n), `SWAP${n}`)),
    ...["MLOAD", "TLOAD", "SLOAD", "BALANCE", "EXTCODESIZE", "EXTCODEHASH"].map((opcode) => ({
      ...simple(`${opcode}, warm`, "", opcode === "MLOAD" ? "1 MLOAD POP" : `ADDRESS ${opcode} POP`),
    })),
    simple("MSTORE, unaligned", "", "DUP1 7 MSTORE"),
    simple("MSTORE8", "", "DUP1 7 MSTORE8"),
    simple("BLOCKHASH, the last one", "", "1 NUMBER SUB BLOCKHASH POP"),
    simple("BLOCKHASH, 256 in turn", "", (i) => `${1000 - 1 - i} BLOCKHASH POP`, 256),
    simple("BLOCKHASH, too old", "", "PUSH0 BLOCKHASH POP"),
  ];
}

export const opcodeFamilies = (): Family[] => [
  ...["ADDMOD", "MULMOD"].map((opcode) => withOperands(opcode, 3)),
  ...BINARY.map((opcode) => withOperands(opcode, 2)),
  ...UNARY.map((opcode) => withOperands(opcode, 1)),
  ...plainFamilies(),
];

const SIZES = [0, 1, 32, 33, 64, 136, 256, 1024, 4096, 24_576, 65_536, 262_144, 1 << 20];
const marginOf = (bytes: number, repetitions: number, gasPerByte = 0): number =>
  20_000 + repetitions * (2500 + Math.ceil(bytes / 32) * 8 + bytes * gasPerByte);
const repetitionsOf = (bytes: number): number => (bytes <= 4096 ? 32 : bytes <= 65_536 ? 2 : 1);

/** The instruction on every size; `operands` come before the size on the stack, as they are pushed. */
function bySize(name: string, body: (bytes: number) => string, gasPerByte = 0): Family[] {
  return SIZES.map((bytes) => {
    const repetitions = repetitionsOf(bytes);
    const before = `${bytes === 0 ? "" : `PUSH0 ${bytes - 1} MSTORE8`}`;
    const data = noise(Math.min(Math.max(bytes, 32), 24_576));
    return only(
      "memory",
      single(`${name}, ${size(bytes)}`, {
        before,
        body: body(bytes),
        repetitions,
        margin: marginOf(bytes, repetitions, gasPerByte),
        data,
      }),
    );
  });
}

/** MAIN calls OTHER with `bytes` of call data, or OTHER returns `bytes`; then the loop runs in the contract that copies. */
function callDataCopy(bytes: number): WorstCase {
  const repetitions = repetitionsOf(bytes);
  const copying = loop({ body: `${bytes} PUSH0 PUSH0 CALLDATACOPY`, repetitions, margin: marginOf(bytes, repetitions) });
  const main = asm(`PUSH0 PUSH0 ${bytes} PUSH0 PUSH0 ${push(OTHER)} GAS CALL STOP`);
  return {
    name: `CALLDATACOPY, ${size(bytes)}`,
    contracts: [
      { address: MAIN, code: main },
      { address: OTHER, code: copying },
    ],
  };
}

function returnDataCopy(bytes: number): WorstCase {
  const repetitions = repetitionsOf(bytes);
  const before = `PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ${push(OTHER)} GAS CALL POP`;
  const code = loop({ before, body: `${bytes} PUSH0 PUSH0 RETURNDATACOPY`, repetitions, margin: marginOf(bytes, repetitions) });
  return {
    name: `RETURNDATACOPY, ${size(bytes)}`,
    contracts: [
      { address: MAIN, code },
      { address: OTHER, code: asm(`${bytes} PUSH0 RETURN`) },
    ],
  };
}

/** MAIN calls OTHER again and again, whose frame begins with an empty memory. */
function calling(
  name: string,
  other: string,
  margin: number,
  body = `PUSH0 PUSH0 PUSH0 PUSH0 PUSH0 ${push(OTHER)} GAS CALL POP`,
): Family {
  return only("memory", {
    name,
    contracts: [
      { address: MAIN, code: loop({ body, repetitions: 2, margin }) },
      { address: OTHER, code: asm(other) },
    ],
  });
}

const expansionGas = (bytes: number): number => 3 * (bytes / 32) + Math.floor((bytes / 32) ** 2 / 512);

function expansions(): Family[] {
  return [32, 1024, 8192, 32_768, 131_072, 524_288, 1 << 20].flatMap((bytes) => {
    const margin = 20_000 + 3 * expansionGas(bytes);
    return [
      calling(`memory of a new frame, ${size(bytes)}`, `PUSH0 ${bytes - 1} MSTORE8 STOP`, margin),
      calling(`RETURN, ${size(bytes)}`, `${bytes} PUSH0 RETURN`, margin),
      calling(`REVERT, ${size(bytes)}`, `${bytes} PUSH0 REVERT`, margin),
    ];
  });
}

export const memoryFamilies = (): Family[] => [
  ...bySize("KECCAK256", (bytes) => `${bytes} PUSH0 KECCAK256 POP`),
  ...bySize("KECCAK256 of other data each time", (bytes) => `DUP1 PUSH0 MSTORE ${bytes} PUSH0 KECCAK256 POP 1 ADD`),
  ...bySize("MCOPY forwards by 1", (bytes) => `${bytes} 1 PUSH0 MCOPY`),
  ...bySize("MCOPY backwards by 1", (bytes) => `${bytes} PUSH0 1 MCOPY`),
  ...bySize("CODECOPY", (bytes) => `${bytes} PUSH0 PUSH0 CODECOPY`),
  ...bySize("CODECOPY beyond the end", (bytes) => `${bytes} CODESIZE PUSH0 CODECOPY`),
  ...bySize("EXTCODECOPY, warm", (bytes) => `${bytes} PUSH0 PUSH0 ADDRESS EXTCODECOPY`),
  ...[0, 1, 2, 3, 4].flatMap((topics) =>
    bySize(`LOG${topics}`, (bytes) => `${"DUP1 ".repeat(topics)} ${bytes} PUSH0 LOG${topics}`, 8),
  ),
  ...SIZES.map((bytes) => only("memory", callDataCopy(bytes))),
  ...SIZES.map((bytes) => only("memory", returnDataCopy(bytes))),
  ...expansions(),
];

/** Code that jumps over `filler` to its end: all of it must be looked at for PUSH data. */
const jumpingOver = (filler: Uint8Array, bytes: number): Uint8Array => {
  const end = bytes - 6;
  const middle = new Uint8Array(end - 4);
  const filled = middle.length - 32; // so no PUSH covers the JUMPDEST
  for (let at = 0; at < filled; at += filler.length) middle.set(filler.subarray(0, filled - at), at);
  // PUSH2 end JUMP … JUMPDEST STOP and four bytes of address
  return concatBytes(Uint8Array.of(0x61, end >> 8, end & 0xff, 0x56), middle, Uint8Array.of(0x5b, 0x00, 0, 0, 0, 0));
};

/** Code that runs through `filler` to its end. */
const runningThrough = (filler: Uint8Array, bytes: number): Uint8Array => {
  const middle = new Uint8Array(Math.floor((bytes - 6) / filler.length) * filler.length);
  for (let at = 0; at < middle.length; at += filler.length) middle.set(filler, at);
  return concatBytes(middle, new Uint8Array(bytes - middle.length));
};

export const FILLERS: Readonly<Record<string, Uint8Array>> = {
  JUMPDEST: Uint8Array.of(0x5b),
  "PUSH1 0x5b": Uint8Array.of(0x60, 0x5b),
  STOP: Uint8Array.of(0x00),
  "PUSH4 0x5b5b5b5b": Uint8Array.of(0x63, 0x5b, 0x5b, 0x5b, 0x5b),
  noise: noise(1021),
};
export const RUN_FILLERS: Readonly<Record<string, Uint8Array>> = {
  JUMPDEST: Uint8Array.of(0x5b),
  "PC POP": Uint8Array.of(0x58, 0x50),
  "PUSH0 POP": Uint8Array.of(0x5f, 0x50),
  "PUSH1 POP": Uint8Array.of(0x60, 0x01, 0x50),
};
export { jumpingOver, runningThrough };

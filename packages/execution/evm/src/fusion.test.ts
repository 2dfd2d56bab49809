import { bytesToHex, EMPTY_BYTES } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import { asm } from "./testing/asm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState } from "./testing/memory-state.ts";

/**
 * Sequences of opcodes are joined into single instructions (assembly/fusion.ts). With a tracer, nothing is joined. Stack and memory must be the
 * same in both cases.
 */
const joining = createEvm(engineModule);
const stepping = createEvm(engineModule);
stepping.setTracer({});

const CODE_ADDRESS = addressHex(0x1000);

const CONSTANTS = [
  "0",
  "1",
  "2",
  "31",
  "32",
  "64",
  "255",
  "256",
  "0xffffffff",
  "0x100000000",
  `0x${"f".repeat(64)}`,
  `0x8${"0".repeat(63)}`,
];
const constant = fc.oneof(
  fc.constantFrom(...CONSTANTS),
  fc.bigInt(0n, (1n << 256n) - 1n).map((value) => `0x${value.toString(16)}`),
);

/** Pieces of code, how they change the height of the stack, and how many words they need on it. */
interface Piece {
  readonly text: string;
  readonly needs: number;
  readonly change: number;
}
const piece = (text: string, needs: number, change: number): Piece => ({ text, needs, change });
const BINARY = [
  "ADD",
  "MUL",
  "SUB",
  "DIV",
  "SDIV",
  "MOD",
  "LT",
  "GT",
  "SLT",
  "SGT",
  "EQ",
  "AND",
  "OR",
  "XOR",
  "SHL",
  "SHR",
  "SAR",
  "BYTE",
];

const anyPiece = fc.oneof(
  { weight: 6, arbitrary: constant.map((value) => piece(value, 0, 1)) },
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 6 }).map((n) => piece(`DUP${n}`, n, 1)) },
  { weight: 8, arbitrary: fc.integer({ min: 1, max: 4 }).map((n) => piece(`SWAP${n}`, n + 1, 0)) },
  { weight: 12, arbitrary: fc.constantFrom(...BINARY).map((name) => piece(name, 2, -1)) },
  { weight: 4, arbitrary: fc.constantFrom("ISZERO", "NOT").map((name) => piece(name, 1, 0)) },
  { weight: 3, arbitrary: fc.constant(piece("POP", 1, -1)) },
  // memory at a low address, which is given in every possible way
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      piece("0x60 MSTORE", 1, -1),
      piece("DUP1 0x80 MSTORE", 1, 0),
      piece("DUP2 0x80 MSTORE", 2, 0),
      piece("0xff AND MLOAD", 1, 0),
      piece("0xff AND DUP1 MLOAD", 1, 1),
      piece("0xa0 MLOAD", 0, 1),
      piece("0x1ff AND DUP2 SWAP1 MSTORE", 2, -1),
      piece("0x1ff AND SWAP1 DUP2 MSTORE", 2, -1),
      piece("0x1ff AND DUP3 DUP2 MSTORE", 3, 0),
      piece("0x40 DUP2 SWAP1 MSTORE", 1, 0),
      piece("0x1ff AND MSTORE", 2, -2),
    ),
  },
  // a jump over an addition, with conditions of several kinds
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(
        "ISZERO",
        "ISZERO ISZERO",
        "",
        "DUP1 ISZERO",
        "0x20 LT",
        "0x20 GT ISZERO",
        "DUP1 0x20 EQ",
        "0x20 SWAP1 SGT",
        "NOT",
      )
      .map((condition) => piece(`${condition} @JUMPI 7 ADD :`, 2, -1)),
  },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom("LT", "GT ISZERO", "SLT", "SGT ISZERO ISZERO", "EQ")
      .map((condition) => piece(`${condition} @JUMPI 5 XOR :`, 3, -2)),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("DUP2 DUP2 LT", "DUP1 DUP3 GT ISZERO", "DUP2 LT", "DUP3 DUP2 EQ", "DUP1 DUP1 SGT")
      .map((condition) => piece(`DUP1 ${condition} @JUMPI 9 ADD :`, 3, condition.startsWith("DUP2 LT") ? 0 : 1)),
  },
);

const START_HEIGHT = 8;
const MAX_HEIGHT = 40;

/** The text of a program that never underflows or overflows its stack, and the stack's final height. A piece `DUP1 DUP1 cond JUMPI` leaves the stack as it was. */
function program(starts: readonly string[], pieces: readonly Piece[]): { text: string; height: number } {
  let text = starts.join(" ");
  let height = starts.length;
  let labels = 0;
  for (const { text: part, needs, change } of pieces) {
    if (height < needs || height + change > MAX_HEIGHT) continue;
    const label = `l${labels++}`;
    text += ` ${part.replace("@JUMPI", `@${label} JUMPI`).replace(/:$/, `:${label}`)}`;
    height += change;
  }
  return { text, height };
}

function run(engine: typeof joining, code: Uint8Array): { output: string; gasUsed: bigint; halt: string | undefined } {
  const block = engine.beginBlock(ethereumRules("cancun"), environment, new MemoryState({ [CODE_ADDRESS]: { code } }));
  const { output, gasUsed, halt } = block.call({
    from: address(addressHex(0x99)),
    to: address(CODE_ADDRESS),
    gasLimit: 1_000_000n,
    value: 0n,
    data: EMPTY_BYTES,
    gasPrice: 0n,
  });
  return { output: bytesToHex(output), gasUsed, halt };
}

describe("joined instructions", () => {
  describe.each([
    { numRuns: 500, tags: [] },
    { numRuns: 3000, tags: ["long"] },
  ])("of $numRuns programs", ({ numRuns, tags }) => {
    it("leave the stack and the memory that single ones leave", { tags }, () => {
      let succeeded = 0;
      fc.assert(
        fc.property(
          fc.array(constant, { minLength: START_HEIGHT, maxLength: START_HEIGHT }),
          fc.array(anyPiece, { minLength: 1, maxLength: 60 }),
          (starts, pieces) => {
            const { text, height } = program(starts, pieces);
            const save = Array.from({ length: height }, (_, i) => `0x${(0x400 + 32 * i).toString(16)} MSTORE`).join(" ");
            const code = asm(`${text} ${save} 0x${(0x400 + 32 * height).toString(16)} 0 RETURN`);
            const joined = run(joining, code);
            expect(joined).toEqual(run(stepping, code));
            if (joined.halt === undefined) succeeded++;
          },
        ),
        { numRuns },
      );
      expect(succeeded).toBeGreaterThan(0.8 * numRuns);
    });
  });
});

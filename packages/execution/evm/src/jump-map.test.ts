import { createRandom, type Random } from "@rnode/primitives/testing";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState } from "./testing/memory-state.ts";

/**
 * Valid jump destinations (assembly/jump-map.ts). The map is built from 64 bytes at a time, so the cases vary the position of
 * PUSHes in these.
 */

const CODE_ADDRESS = addressHex(0x1000);
const [JUMPDEST, PUSH0, PUSH1, PUSH32] = [0x5b, 0x5f, 0x60, 0x7f] as const;
/** PUSH0 CALLDATALOAD JUMP, and their gas */
const JUMP_TO_DATA = [PUSH0, 0x35, 0x56];
const JUMP_GAS = 13n;

/** The definition: opcode by opcode. */
function destinationsOf(code: Uint8Array): Set<number> {
  const found = new Set<number>();
  for (let at = 0; at < code.length; at++) {
    const opcode = code[at]!;
    if (opcode === JUMPDEST) found.add(at);
    if (opcode >= PUSH1 && opcode <= PUSH32) at += opcode - PUSH0;
  }
  return found;
}

/** Stretches of codes, each of one kind of bytes */
const STRETCHES: readonly ((random: Random) => number)[] = [
  (random) => random(256),
  () => JUMPDEST,
  () => PUSH1,
  () => PUSH32,
  (random) => [PUSH1, JUMPDEST][random(2)]!,
  (random) => [PUSH1, PUSH1, JUMPDEST, PUSH1 + 1][random(4)]!,
  (random) => [PUSH1 + random(32), JUMPDEST, JUMPDEST, JUMPDEST][random(4)]!,
  (random) => [PUSH1 + random(32), JUMPDEST, 0, 0, 0, 0, 0, 0][random(8)]!,
];

function randomCode(random: Random): Uint8Array {
  const bytes = [...JUMP_TO_DATA];
  const length = bytes.length + random(700);
  while (bytes.length < length) {
    const stretch = STRETCHES[random(STRETCHES.length)]!;
    for (let left = 1 + random(130); left > 0 && bytes.length < length; left--) bytes.push(stretch(random));
  }
  return Uint8Array.from(bytes);
}

const plain = createEvm(engineModule);
const stepping = createEvm(engineModule);
stepping.setTracer({});

function callerOf(code: Uint8Array, engine: typeof plain) {
  const block = engine.beginBlock(ethereumRules("cancun"), environment, new MemoryState({ [CODE_ADDRESS]: { code } }));
  /** @param gas of the execution, without the transaction's own */
  return (position: number, gas: bigint) => {
    const data = new Uint8Array(32);
    new DataView(data.buffer).setUint32(28, position);
    const zeros = data.filter((byte) => byte === 0).length;
    const gasLimit = 21_000n + BigInt(4 * zeros + 16 * (32 - zeros)) + gas;
    const call = { from: address(addressHex(1)), to: address(CODE_ADDRESS), value: 0n, data, gasPrice: 0n, gasLimit };
    const { status, halt, gasUsed } = block.call(call);
    return { status, halt, gasUsed };
  };
}

describe("destinations of jumps", () => {
  it("are the JUMPDESTs that are no operands, whatever lies around them", () => {
    const random = createRandom(12);
    let destinations = 0;
    for (let codes = 0; codes < 60; codes++) {
      const code = randomCode(random);
      const expected = destinationsOf(code);
      const jump = callerOf(code, plain);
      // the gas is used up by the jump: a destination costs one more
      const found = [...code.keys()].filter((position) => jump(position, JUMP_GAS).halt === "out-of-gas");
      expect(found, `code ${Buffer.from(code).toString("hex")}`).toEqual([...expected]);
      expect(jump(code.length, JUMP_GAS).halt).toBe("invalid-jump");
      destinations += expected.size;
    }
    expect(destinations).toBeGreaterThan(2000);
  });

  it("may lie one after the other: each is reached, in any order, and pays for those behind it", () => {
    const random = createRandom(3);
    for (const rowLength of [1, 2, 3, 63, 64, 65, 200]) {
      for (const before of [0, 1, 60, 61, 62]) {
        const row = JUMP_TO_DATA.length + before;
        const code = Uint8Array.from([
          ...JUMP_TO_DATA,
          ...Array.from({ length: before }, () => 0),
          ...Array.from({ length: rowLength }, () => JUMPDEST),
          ...[PUSH1, 7, PUSH0, 0x55, PUSH0, 0x50, 0x00],
        ]);
        const [jump, step] = [callerOf(code, plain), callerOf(code, stepping)];
        for (let jumps = 0; jumps < 20; jumps++) {
          const position = row + random(rowLength);
          const gas = BigInt(random(5000 + rowLength) + 21_000 * random(2));
          expect(jump(position, gas), `${position - row} of ${rowLength} at ${row} with ${gas} gas`).toEqual(step(position, gas));
        }
      }
    }
  });
});

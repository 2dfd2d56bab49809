import { concatBytes, EMPTY_BYTES } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState } from "./testing/memory-state.ts";

const SENDER = addressHex(0x5e4d);
const TESTED = addressHex(0x2000);

describe("a PUSH whose operand the end of the code cuts off", () => {
  for (let width = 1; width <= 32; width++) {
    it(`PUSH${width} is followed by the STOP at the end of the code`, () => {
      const engine = createEvm(engineModule);
      for (let present = 0; present < width; present++) {
        const code = concatBytes(Uint8Array.of(0x5f + width), new Uint8Array(present).fill(0xfe));
        const steps: { pc: number; opcode: number }[] = [];
        engine.setTracer({ onStep: ({ pc, opcode }) => steps.push({ pc, opcode }) });
        const state = new MemoryState({ [SENDER]: { balance: 1n }, [TESTED]: { code } });
        const block = engine.beginBlock(ethereumRules("cancun"), environment, state);
        const message = {
          from: address(SENDER),
          to: address(TESTED),
          gasLimit: 100_000n,
          value: 0n,
          data: EMPTY_BYTES,
          gasPrice: 0n,
        };
        expect(block.call(message)).toMatchObject({ status: 1, halt: undefined, gasUsed: 21_003n });
        expect(steps).toEqual([
          { pc: 0, opcode: 0x5f + width },
          { pc: code.length, opcode: 0 },
        ]);
      }
    });
  }
});

import { bytesToHex, concatBytes, type Hex } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import type { CallMessage } from "./execution.ts";
import { asm } from "./testing/asm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState, type TestAccount } from "./testing/memory-state.ts";

const MIB = 1 << 20;
const CODE_CACHE_BYTES = 4 * MIB;
const BLOCKS = 120;
const CONTRACTS = 24;
/** 7 KB of JUMPDEST */
const NO_OPERATIONS = new Uint8Array(7000).fill(0x5b);
const ENTRY = addressHex(0xe000);

/** The contracts of a block: each has 8 KB of code, and touches its own slots and accounts. */
function contractsOf(block: number): Record<Hex, TestAccount> {
  const accounts: Record<Hex, TestAccount> = {};
  let calls = "";
  for (let i = 0; i < CONTRACTS; i++) {
    const id = block * CONTRACTS + i;
    const at = addressHex(0x100_0000 + id);
    const touches = Array.from(
      { length: 20 },
      (_, j) => `1 ${id * 100 + j} SSTORE ${addressHex(0x1000_0000 + id * 100 + j)} BALANCE POP`,
    );
    accounts[at] = { code: concatBytes(asm(`${touches.join(" ")} 64000 MLOAD POP`), NO_OPERATIONS) };
    calls += `0 0 0 0 0 ${at} GAS CALL POP `;
  }
  accounts[ENTRY] = { code: asm(`${calls} STOP`) };
  return accounts;
}

const message: CallMessage = {
  from: address(addressHex(0xabc)),
  to: address(ENTRY),
  gasLimit: 1_000_000_000n,
  value: 0n,
  data: new Uint8Array(0),
  gasPrice: 0n,
};

describe("linear memory", () => {
  it("does not grow with the contracts, accounts and slots of a long run", () => {
    const evm = createEvm(engineModule, { codeCacheBytes: CODE_CACHE_BYTES });
    const sizes: number[] = [];
    for (let number = 0; number < BLOCKS; number++) {
      const state = new MemoryState(contractsOf(number));
      const block = evm.beginBlock(ethereumRules("cancun"), environment, state);
      const outcome = block.call(message);
      expect(outcome.status).toBe(1);
      expect(state.reads.codes).toBe(CONTRACTS + 1); // every code was new
      sizes.push(evm.memoryBytes);
    }
    const codeBytes = BLOCKS * CONTRACTS * 7000;
    expect(codeBytes).toBeGreaterThan(3 * CODE_CACHE_BYTES);
    expect(sizes.at(-1)).toBe(sizes[BLOCKS / 2]);
    expect(sizes.at(-1)).toBeLessThan(192 * MIB + 2 * CODE_CACHE_BYTES);
  });

  it("is given back after a block that needed very much", () => {
    const evm = createEvm(engineModule, { codeCacheBytes: CODE_CACHE_BYTES });
    const begin = (code: string) =>
      evm.beginBlock(ethereumRules("cancun"), environment, new MemoryState({ [ENTRY]: { code: asm(code) } }));
    const before = evm.memoryBytes;
    expect(begin(`1 ${300 * MIB} MSTORE STOP`).call({ ...message, gasLimit: 1n << 60n }).status).toBe(1);
    expect(evm.memoryBytes).toBeGreaterThan(before + 300 * MIB);
    const outcome = begin("1 0 MSTORE 32 0 RETURN").call(message);
    expect(bytesToHex(outcome.output)).toBe(`0x${"01".padStart(64, "0")}`);
    expect(evm.memoryBytes).toBeLessThanOrEqual(before + 64 * MIB);
  });
});

import { EMPTY_BYTES } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import type { CallMessage, CallOutcome } from "./execution.ts";
import { asm, deployer } from "./testing/asm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState, type TestAccount } from "./testing/memory-state.ts";
import type { EvmTracer } from "./tracer.ts";

const engine = createEvm(engineModule);
const SENDER = addressHex(0x5e4d);
const MAIN = addressHex(0x1000);
const OTHER = addressHex(0x2000);
/** of a message without data */
const INTRINSIC = 21_000n;
const STOPPED = "stopped";

function begin(accounts: Record<string, TestAccount>, evm = engine) {
  const state = new MemoryState({ [SENDER]: { balance: 10n ** 18n }, ...accounts });
  return evm.beginBlock(ethereumRules("cancun"), environment, state);
}

const message = (fields: Partial<CallMessage> = {}): CallMessage => ({
  from: address(SENDER),
  to: address(MAIN),
  gasLimit: 1_000_000n,
  value: 0n,
  data: EMPTY_BYTES,
  gasPrice: 0n,
  ...fields,
});

/** The gas that a call of MAIN burns. */
function burnedBy(code: string, fields: Partial<CallMessage> = {}, other = "STOP"): { burned: bigint; outcome: CallOutcome } {
  const block = begin({ [MAIN]: { code: asm(code) }, [OTHER]: { code: asm(other) } });
  const before = engine.gasBurned;
  const outcome = block.call(message(fields));
  return { burned: engine.gasBurned - before, outcome };
}

describe("the gas that an engine has burned", () => {
  it("is what a call used, before refunds", () => {
    const { burned, outcome } = burnedBy("1 2 ADD POP STOP");
    expect(burned).toBe(outcome.gasUsed);
    const block = begin({ [MAIN]: { code: asm("0 1 SSTORE STOP"), storage: { "0x1": 5n } } });
    const before = engine.gasBurned;
    const cleared = block.call(message());
    expect(engine.gasBurned - before).toBe(cleared.maxGasUsed);
    expect(cleared.gasUsed).toBeLessThan(cleared.maxGasUsed);
  });

  it("is what a call used that reverts or runs out of gas", () => {
    const reverted = burnedBy("1 2 ADD POP 0 0 REVERT");
    expect(reverted.outcome.halt).toBe("revert");
    expect(reverted.burned).toBe(reverted.outcome.gasUsed);
    const { burned, outcome } = burnedBy(":loop @loop JUMP", { gasLimit: 5_000_000n });
    expect(outcome.halt).toBe("out-of-gas");
    expect(burned).toBeGreaterThan(5_000_000n - 100n);
    expect(burned).toBeLessThanOrEqual(5_000_000n);
  });

  it("is not what a message forfeits that fails", () => {
    const failed = burnedBy("1 2 ADD POP INVALID", { gasLimit: 50_000_000n });
    expect(failed.outcome.gasUsed).toBe(50_000_000n);
    expect(failed.burned).toBe(INTRINSIC + 11n);
    const inner = burnedBy(`0 0 0 0 ${OTHER} GAS STATICCALL POP STOP`, { gasLimit: 50_000_000n }, "1 2 ADD POP INVALID");
    expect(inner.outcome.gasUsed).toBeGreaterThan(49_000_000n);
    expect(inner.burned).toBeLessThan(INTRINSIC + 3000n);
  });

  it("includes calls, precompiles and created code", () => {
    const called = burnedBy(`0 0 0 0 ${OTHER} GAS STATICCALL POP STOP`, {}, "1 0 MSTORE 0 0 REVERT");
    expect(called.burned).toBe(called.outcome.gasUsed);
    const hashed = burnedBy("0 0 10000 0 2 GAS STATICCALL POP STOP");
    expect(hashed.burned).toBe(hashed.outcome.gasUsed);
    const direct = burnedBy("STOP", { to: address(addressHex(2)), data: new Uint8Array(1000) });
    expect(direct.burned).toBe(direct.outcome.gasUsed);
    const created = burnedBy("STOP", { to: undefined, data: deployer(asm("STOP ".repeat(1000))) });
    expect(created.outcome.createdAddress).toBeDefined();
    expect(created.burned).toBe(created.outcome.gasUsed);
  });

  it("includes executions that were cut off: by an interrupt, and by a tracer that sees every instruction", () => {
    const evm = createEvm(engineModule);
    const loop = { [MAIN]: { code: asm(":loop @loop JUMP") } };
    const endless = message({ gasLimit: 1n << 50n });
    const run = (tracer?: EvmTracer): bigint => {
      evm.setTracer(tracer);
      const before = evm.gasBurned;
      const block = begin(loop, evm);
      expect(() => block.call(endless)).toThrow(STOPPED);
      return evm.gasBurned - before;
    };
    const stopAfter = (times: number) => (): void => {
      if (--times === 0) throw new Error(STOPPED);
    };
    evm.setInterrupt(stopAfter(4));
    const interrupted = run();
    // half a million a slice
    expect(interrupted).toBeGreaterThan(4n * 499_000n);
    expect(interrupted).toBeLessThan(INTRINSIC + 4n * 501_000n);
    evm.setInterrupt(undefined);
    // JUMPDEST, PUSH and JUMP: 12 gas in three instructions
    expect(run({ onTick: stopAfter(3001) })).toBe(INTRINSIC + 12_000n);
    evm.setTracer(undefined);
    const before = evm.gasBurned;
    expect(begin({ [MAIN]: { code: asm("STOP") } }, evm).call(message()).gasUsed).toBe(evm.gasBurned - before);
  });

  it("adds up over blocks, also when the instance is replaced", () => {
    const evm = createEvm(engineModule, { codeCacheBytes: 0 });
    const grows = { [MAIN]: { code: asm("0 250000000 MSTORE STOP") } };
    const gasLimit = 1n << 50n;
    const first = begin(grows, evm).call(message({ gasLimit }));
    const large = evm.memoryBytes;
    const second = begin(grows, evm);
    expect(evm.memoryBytes).toBeLessThan(large);
    expect(evm.gasBurned).toBe(first.gasUsed);
    const { gasUsed } = second.call(message({ gasLimit }));
    expect(evm.gasBurned).toBe(first.gasUsed + gasUsed);
  });
});

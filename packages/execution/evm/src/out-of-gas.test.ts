import { isDeepStrictEqual } from "node:util";
import { bytesToHex } from "@rnode/primitives";
import type { SignedTransaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createEvm } from "./evm.ts";
import type { BlockExecution } from "./execution.ts";
import { asm, deployer } from "./testing/asm.ts";
import { engineModule } from "./testing/engine.ts";
import { address, addressHex, environment, ethereumRules, MemoryState, type TestAccount } from "./testing/memory-state.ts";
import type { EvmTracer, TraceDetail, TraceMessage, TraceResult, TraceStep } from "./tracer.ts";

/**
 * Gas is charged once per basic block, not for each instruction. With a tracer, every instruction is a block, as in the
 * specification. Both must give the same result at every gas limit.
 */
const plain = createEvm(engineModule);
const stepping = createEvm(engineModule);
stepping.setTracer({});

/** Collects the messages of a trace, with and without instructions. */
class Messages implements EvmTracer {
  readonly events: string[] = [];
  readonly detail: TraceDetail;
  readonly onTick = undefined;

  constructor(detail: TraceDetail) {
    this.detail = detail;
  }

  onEnter({ kind, depth, gas, value, input, to }: TraceMessage): void {
    this.events.push(`enter ${kind} ${depth} ${to && bytesToHex(to)} gas ${gas} value ${value} input ${bytesToHex(input)}`);
  }

  onExit({ depth, halt, gasLeft, output, lastStep }: TraceResult): void {
    const isFault = halt === "invalid-opcode" || halt?.startsWith("stack-");
    this.events.push(`exit ${depth} ${halt} ${gasLeft} ${bytesToHex(output)} ${isFault ? JSON.stringify(lastStep()) : ""}`);
  }

  onLog(_address: Uint8Array, topics: readonly Uint8Array[], data: Uint8Array): void {
    this.events.push(`log ${topics.length} ${bytesToHex(data)}`);
  }

  onSelfDestruct(self: Uint8Array, beneficiary: Uint8Array, balance: bigint): void {
    this.events.push(`destroyed ${bytesToHex(self)} ${bytesToHex(beneficiary)} ${balance}`);
  }
}

const TOUCHING = new Set([0x31, 0x3b, 0x3c, 0x3f, 0x54, 0x55, 0xf0, 0xf1, 0xf2, 0xf4, 0xf5, 0xfa, 0xff]);

/** The same with instructions that name accounts or slots, and whether a failure was theirs. */
class Touches extends Messages {
  onStep({ pc, opcode, gas, depth, stackSize, address: self, stack, memory, refund }: TraceStep): void {
    if (!TOUCHING.has(opcode)) return;
    const words = Array.from({ length: Math.min(stackSize, 7) }, (_, index) => stack(index));
    this.events.push(
      `${depth}:${pc} ${opcode} gas ${gas} ${bytesToHex(self)} ${words.join(",")} ${bytesToHex(memory())} ${refund()}`,
    );
  }

  override onExit(result: TraceResult): void {
    super.onExit(result);
    const last = result.lastStep();
    if (last !== undefined && TOUCHING.has(last.opcode)) this.events.push(`after ${last.opcode} ${last.stackSize}`);
  }
}
const tracedPlain = createEvm(engineModule);
const tracedStepping = createEvm(engineModule);

const SENDER = addressHex(0x5e4d);
const MAIN = addressHex(0x1000);
const OTHER = addressHex(0x2000);

const accounts = (code: string, otherCode: string): Record<`0x${string}`, TestAccount> => ({
  [SENDER]: { balance: 10n ** 20n },
  [MAIN]: { balance: 1000n, nonce: 1n, code: asm(code), storage: { "0x1": 5n, "0x2": 6n } },
  [OTHER]: { balance: 1n, nonce: 1n, code: asm(otherCode), storage: { "0x0": 1n } },
});

const CREATED = deployer(asm("1 PUSH0 SSTORE 42 1 SSTORE STOP"));
const storeCode = (code: Uint8Array): string =>
  [...code].map((byte, i) => `0x${byte.toString(16).padStart(2, "0")} 0x${i.toString(16)} MSTORE8`).join(" ");

const PROGRAMS: Readonly<Record<string, { code: string; other?: string }>> = {
  "a loop": { code: "10 :loop 1 SWAP1 SUB DUP1 @loop JUMPI STOP" },
  "memory that grows": { code: "0 :loop DUP1 DUP1 MSTORE 64 ADD DUP1 1500 GT @loop JUMPI MSIZE PUSH0 MSTORE 32 PUSH0 RETURN" },
  "EXP and KECCAK256": { code: "0x123456789abcdef0 3 EXP PUSH0 MSTORE 100 PUSH0 KECCAK256 PUSH0 MSTORE 32 PUSH0 RETURN" },
  "the gas left, several times": {
    code: "GAS GAS GAS PUSH0 MSTORE 32 MSTORE 64 MSTORE 5 6 ADD POP GAS 96 MSTORE 128 PUSH0 RETURN",
  },
  "copies and logs": {
    code: "40 3 5 CALLDATACOPY 20 0 64 CODECOPY 7 8 32 PUSH0 LOG2 PUSH0 PUSH0 LOG0 33 2 100 MCOPY 1 2 3 4 10 90 LOG4 STOP",
  },
  storage: { code: "9 1 SSTORE 0 2 SSTORE 6 2 SSTORE 1 3 SSTORE 0 3 SSTORE 1 SLOAD 4 SLOAD ADD 5 SSTORE STOP" },
  "SSTORE with little gas": { code: "1 1 SSTORE GAS POP 2 1 SSTORE STOP" },
  "transient storage": { code: "7 1 TSTORE 1 TLOAD 2 TSTORE 2 TLOAD PUSH0 MSTORE 32 PUSH0 RETURN" },
  "a call that takes all it gets": {
    code: "32 0 0 0 0 0x2000 GAS CALL PUSH0 MSTORE GAS 32 MSTORE 64 PUSH0 RETURN",
    other: "0 :loop 1 ADD DUP1 100 GT @loop JUMPI 1 PUSH0 SSTORE 2 3 SSTORE STOP",
  },
  "a call with value and fixed gas": {
    code: "0 0 0 0 3 0x2000 1000 CALL 0 0 0 0 1 0x77777 0 CALL ADD PUSH0 MSTORE RETURNDATASIZE 32 MSTORE 64 PUSH0 RETURN",
    other: "CALLVALUE PUSH0 MSTORE 32 PUSH0 REVERT",
  },
  "delegate and static calls": {
    code: "0 0 0 0 0x2000 GAS DELEGATECALL 0 0 0 0 0x2000 20000 STATICCALL ADD 64 MSTORE 32 64 RETURN",
    other: "5 0 SSTORE 0 SLOAD POP STOP",
  },
  "a precompile": {
    code: "1 PUSH0 MSTORE8 32 0 64 0 2 GAS STATICCALL 64 96 96 0 4 GAS STATICCALL ADD PUSH0 MSTORE 128 PUSH0 RETURN",
  },
  creations: {
    code: `${storeCode(CREATED)} ${CREATED.length} 0 3 CREATE 7 ${CREATED.length} 0 1 CREATE2 7 ${CREATED.length} 0 1 CREATE2 32 MSTORE PUSH0 MSTORE 64 MSTORE 96 0 RETURN`,
  },
  "other accounts": {
    code: "0x2000 BALANCE 0x2000 EXTCODESIZE 0x3000 EXTCODEHASH 0x2000 EXTCODEHASH 10 0 0 0x4000 EXTCODECOPY SELFBALANCE PUSH0 MSTORE 32 0 RETURN",
  },
  "self-destruction": { code: "0 0 0 0 0 0x2000 GAS CALL POP 0x99999 SELFDESTRUCT", other: "0x1000 SELFDESTRUCT" },
  "an invalid opcode after work": { code: "1 1 SSTORE 0 0 LOG0 INVALID" },
  "a jump to nowhere": { code: "1 2 ADD 3 JUMP" },
  "logs and transient storage in a static call": {
    code: "0 0 0 0 0x2000 GAS STATICCALL 0 0 LOG0 1 2 TSTORE 0 0 1 0 0 0x3000 GAS CALL STOP",
    other: "1 1 ADD POP 5 0 0 LOG1 1 2 ADD POP 1 2 TSTORE STOP",
  },
  "return data that is not there": { code: "0 0 0 0 0x2000 GAS STATICCALL POP 5 0 0 RETURNDATACOPY 1 1 ADD POP STOP" },
  "too much on the stack": { code: `${"1 ".repeat(900)} 0 0 LOG0 ${"1 ".repeat(126)} STOP` },
  "calls before the stack fails": { code: "0 0 0 0 0 0x2000 GAS CALL 0 0 LOG0 ADD ADD", other: "POP" },
  "touches at the beginning, after jumps and in loops": {
    code: "@start JUMP :start 3 :loop DUP1 SLOAD POP 1 SWAP1 SUB DUP1 DUP1 @loop JUMPI SLOAD POP 2 DUP1 1 LT @end JUMPI BALANCE POP :end 0 0 0 0 0x2000 GAS STATICCALL POP PUSH0 BALANCE STOP",
    other: "SLOAD",
  },
  "touches over several runs": { code: `${"7 SLOAD SLOAD BALANCE POP ".repeat(90)} STOP` },
  "failures after a touch": {
    code: "0 0 0 0 0 0x2000 5000 CALL 0 0 0 0 0 9 5000 CALL 0 0 1 0 0 0x2000 200 CALL 0 SLOAD ADD POP ADD",
    other: "1 SLOAD 0xffff0000 MLOAD STOP",
  },
  "too little on the stack": { code: "1 1 SSTORE POP POP ADD" },
  "memory that grows before the stack fails": {
    code: "GAS POP 7 0x900 MSTORE 9 0x40 MSTORE 64 0x1000 KECCAK256 0x123456 EXP 0x3000 EXTCODESIZE 3 MUL POP POP POP",
  },
  "memory that grows before the stack is full": { code: `${"1 ".repeat(1020)} GAS POP 3 0x1800 MSTORE 1 1 1 0x2000 MLOAD 1 STOP` },
  "a revert with data": { code: "5 1 SSTORE 0x1234 PUSH0 MSTORE 32 PUSH0 REVERT" },
};

const transaction = (gasLimit: bigint): SignedTransaction => ({
  type: 0x02,
  chainId: 1n,
  nonce: 0n,
  gasLimit,
  to: address(MAIN),
  value: 2n,
  data: Uint8Array.of(1, 0, 2),
  maxFeePerGas: 10n,
  maxPriorityFeePerGas: 1n,
  accessList: [{ address: address(OTHER), storageKeys: [] }],
});

/** Everything that can be observed of a transaction. */
function observe(block: BlockExecution, gasLimit: bigint): string {
  const result = block.applyTransaction(transaction(gasLimit), { sender: address(SENDER), encoded: new Uint8Array(0) });
  const { accounts: changed, codes } = block.changes();
  const printable = (_key: string, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value instanceof Uint8Array ? bytesToHex(value) : value;
  return JSON.stringify({ result, changed, codes }, printable);
}

/** 21,000, an address of the access list, three bytes of data */
const INTRINSIC = 23_436n;

/** All gas limits within `near` of the intrinsic gas and of the needed gas, and one in `far` between them. */
function* gasLimits(needed: bigint, near: bigint, far: bigint): Iterable<bigint> {
  for (let gas = needed + 20n; gas >= INTRINSIC - 2n; gas -= gas > needed - near || gas < INTRINSIC + near ? 1n : far) yield gas;
}

describe.each([
  { limits: "some", near: 60n, far: 67n, tags: [] },
  { limits: "all", near: 500n, far: 61n, tags: ["long"] },
])("out of gas, $limits limits near its needs", ({ near, far, tags }) => {
  it.each(Object.entries(PROGRAMS))("%s", { tags }, (_name, { code, other = "STOP" }) => {
    const begin = (engine: typeof plain) =>
      engine.beginBlock(ethereumRules("cancun"), environment, new MemoryState(accounts(code, other)));
    const full = begin(plain).applyTransaction(transaction(2_000_000n), { sender: address(SENDER), encoded: new Uint8Array(0) });
    if (full.kind === "rejected") throw new Error(full.reason);
    // gas that is refunded was needed first
    const needed = full.outcome.halt === undefined ? (full.outcome.gasUsed * 5n) / 4n : 60_000n;
    const results = new Set<string>();
    for (const gas of gasLimits(needed < 200_000n ? needed : 200_000n, near, far)) {
      const expected = observe(begin(stepping), gas);
      const actual = observe(begin(plain), gas);
      results.add(/"halt":"[a-z-]+"|"status":1/.exec(actual)?.[0] ?? "rejected");
      if (actual !== expected) expect({ gas, observed: actual }).toEqual({ gas, observed: expected });
    }
    const pairs = [
      [new Messages("messages"), new Messages("steps")],
      [new Touches("touches"), new Touches("steps")],
    ] as const;
    for (const [rest, [some, all]] of pairs.entries()) {
      tracedPlain.setTracer(some);
      tracedStepping.setTracer(all);
      for (const gas of gasLimits(needed < 200_000n ? needed : 200_000n, near, far)) {
        if (gas % 8n !== BigInt(rest)) continue; // for its time
        observe(begin(tracedPlain), gas);
        observe(begin(tracedStepping), gas);
        const [actual, expected] = [some.events.splice(0), all.events.splice(0)];
        if (!isDeepStrictEqual(actual, expected)) expect([gas, ...actual]).toEqual([gas, ...expected]); // which is slow, and shows the difference
      }
    }
    // some of the limits are too low and some are enough
    expect(results).toContain('"halt":"out-of-gas"');
    expect(results.size).toBeGreaterThan(1);
  });
});

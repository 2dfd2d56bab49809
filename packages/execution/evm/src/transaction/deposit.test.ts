import { EMPTY_BYTES, type Hex } from "@rnode/primitives";
import type { DepositTransaction, EvmFork, OpFork } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createEvm } from "../evm.ts";
import type { TransactionOutcome } from "../execution.ts";
import { asm, deployer } from "../testing/asm.ts";
import { engineModule } from "../testing/engine.ts";
import { address, addressHex, environment, MemoryState, opRules, type TestAccount } from "../testing/memory-state.ts";

const engine = createEvm(engineModule);
const FROM = addressHex(0xf0);
const TARGET = addressHex(0x1000);

const CODES = {
  succeeds: "1 1 SSTORE 0 0 LOG0 STOP",
  clears: "0 5 SSTORE STOP",
  reverts: "1 1 SSTORE 32 0 REVERT",
  halts: "1 1 SSTORE INVALID",
  identifies: "GASPRICE 0 MSTORE CALLER 32 MSTORE ORIGIN 64 MSTORE 96 0 RETURN",
} as const;

function begin(evm: EvmFork, op: OpFork, accounts: Record<Hex, TestAccount>) {
  const block = engine.beginBlock(opRules(evm, op), environment, new MemoryState(accounts));
  return block;
}

function deposit(fields: Partial<DepositTransaction> = {}): DepositTransaction {
  return {
    type: 0x7e,
    sourceHash: new Uint8Array(32),
    from: address(FROM),
    to: address(TARGET),
    mint: 500n,
    value: 100n,
    gasLimit: 100_000n,
    isSystemTx: false,
    data: EMPTY_BYTES,
    ...fields,
  };
}

const context = { sender: address(FROM), encoded: EMPTY_BYTES };

interface Row {
  readonly name: string;
  readonly fork?: readonly [EvmFork, OpFork];
  readonly code?: keyof typeof CODES;
  readonly tx?: Partial<DepositTransaction>;
  /** status, gas used, and the sender's nonce and balance afterwards */
  readonly expected: Pick<TransactionOutcome, "status" | "gasUsed" | "halt"> & { readonly nonce: bigint; readonly balance: bigint };
}

const BEDROCK = ["paris", "bedrock"] as const;
const REGOLITH = ["paris", "regolith"] as const;
const CANYON = ["shanghai", "canyon"] as const;
const JOVIAN = ["prague", "jovian"] as const;

/** 21,000 and the code: two pushes and a cold new slot, two pushes and a log */
const SUCCESS_GAS = 21_000n + 6n + 22_100n + 6n + 375n;
const REVERT_GAS = 21_000n + 6n + 22_100n + 6n + 3n;

const ROWS: readonly Row[] = [
  { name: "success", expected: { status: 1, gasUsed: SUCCESS_GAS, halt: undefined, nonce: 8n, balance: 400n } },
  {
    name: "success in Bedrock uses the limit",
    fork: BEDROCK,
    expected: { status: 1, gasUsed: 100_000n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "a system transaction in Bedrock uses nothing",
    fork: BEDROCK,
    tx: { isSystemTx: true },
    expected: { status: 1, gasUsed: 0n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "a system transaction of Bedrock takes no gas from the block",
    fork: BEDROCK,
    tx: { isSystemTx: true, gasLimit: 150_000_000n },
    expected: { status: 1, gasUsed: 0n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "a system transaction from Regolith fails",
    fork: REGOLITH,
    tx: { isSystemTx: true },
    expected: { status: 0, gasUsed: 100_000n, halt: "deposit-failed", nonce: 8n, balance: 500n },
  },
  {
    name: "revert keeps the mint",
    code: "reverts",
    expected: { status: 0, gasUsed: REVERT_GAS, halt: "revert", nonce: 8n, balance: 500n },
  },
  {
    name: "revert in Bedrock",
    fork: BEDROCK,
    code: "reverts",
    expected: { status: 0, gasUsed: 100_000n, halt: "revert", nonce: 8n, balance: 500n },
  },
  {
    name: "halt uses all gas",
    code: "halts",
    expected: { status: 0, gasUsed: 100_000n, halt: "invalid-opcode", nonce: 8n, balance: 500n },
  },
  {
    name: "too little for the intrinsic gas",
    tx: { gasLimit: 20_999n },
    expected: { status: 0, gasUsed: 20_999n, halt: "deposit-failed", nonce: 8n, balance: 500n },
  },
  {
    name: "too little for the value",
    tx: { value: 501n },
    expected: { status: 0, gasUsed: 100_000n, halt: "deposit-failed", nonce: 8n, balance: 500n },
  },
  {
    name: "refund",
    code: "clears",
    // a slot is cleared: at most a fifth of the gas is refunded
    expected: { status: 1, gasUsed: 21_000n + 6n + 5000n - 4800n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "calldata floor in Isthmus",
    fork: JOVIAN,
    tx: { data: new Uint8Array(5000).fill(1), gasLimit: 300_000n },
    expected: { status: 1, gasUsed: 21_000n + 5000n * 40n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "gas limit below the calldata floor",
    fork: JOVIAN,
    tx: { data: new Uint8Array(5000).fill(1), gasLimit: 220_000n },
    expected: { status: 0, gasUsed: 220_000n, halt: "deposit-failed", nonce: 8n, balance: 500n },
  },
  {
    name: "no floor before Isthmus",
    tx: { data: new Uint8Array(5000).fill(1), gasLimit: 220_000n },
    expected: { status: 1, gasUsed: SUCCESS_GAS + 5000n * 16n, halt: undefined, nonce: 8n, balance: 400n },
  },
  {
    name: "initialisation code that is too long",
    fork: CANYON,
    tx: { to: undefined, data: new Uint8Array(49_153), gasLimit: 1_000_000n },
    expected: { status: 0, gasUsed: 1_000_000n, halt: "deposit-failed", nonce: 8n, balance: 500n },
  },
];

describe("deposits", () => {
  it.each(ROWS)("$name", ({ fork = CANYON, code = "succeeds", tx = {}, expected }) => {
    const block = begin(fork[0], fork[1], {
      [FROM]: { nonce: 7n },
      [TARGET]: { code: asm(CODES[code]), storage: { "0x5": 1n } },
    });
    const before = block.gasLeft;
    const result = block.applyTransaction(deposit(tx), context);
    if (result.kind === "rejected") throw new Error(result.reason);
    const { status, gasUsed, halt, depositNonce, logs, l1Fee, effectiveTip } = result.outcome;
    const nonce = block.getNonce(address(FROM));
    const balance = block.getBalance(address(FROM));
    expect({ status, gasUsed, halt, nonce, balance }).toEqual(expected);
    expect(before - block.gasLeft).toBe(gasUsed);
    expect(depositNonce).toBe(fork === BEDROCK ? undefined : 7n);
    expect(logs.length).toBe(status === 1 && code === "succeeds" ? 1 : 0);
    expect({ l1Fee, effectiveTip }).toEqual({ l1Fee: 0n, effectiveTip: 0n });
  });

  it("creates at the address of the nonce before", () => {
    const block = begin(CANYON[0], CANYON[1], { [FROM]: { nonce: 7n } });
    const result = block.applyTransaction(deposit({ to: undefined, data: deployer(asm("STOP")) }), context);
    if (result.kind === "rejected") throw new Error(result.reason);
    const created = result.outcome.createdAddress!;
    expect(block.getCode(created)).toEqual(asm("STOP"));
    expect(block.getBalance(created)).toBe(100n);
    expect(block.getNonce(address(FROM))).toBe(8n);
  });

  it("costs nothing, and the code sees no gas price", () => {
    const block = begin(CANYON[0], CANYON[1], { [TARGET]: { code: asm(CODES.identifies) } });
    const result = block.applyTransaction(deposit(), context);
    if (result.kind === "rejected") throw new Error(result.reason);
    const { output } = result.outcome;
    expect(output.slice(0, 32)).toEqual(new Uint8Array(32));
    expect(output.slice(44, 64)).toEqual(address(FROM));
    expect(output.slice(76, 96)).toEqual(address(FROM));
    expect(block.changes().accounts.length).toBe(2); // sender and target: no vault, no coinbase
  });

  it("is refused only when the block has no room", () => {
    const block = begin(CANYON[0], CANYON[1], {});
    const result = block.applyTransaction(deposit({ gasLimit: environment.gasLimit + 1n }), context);
    expect(result).toMatchObject({ kind: "rejected", reason: "gas-limit-exceeds-block" });
    expect(block.changes().accounts).toEqual([]);
  });
});

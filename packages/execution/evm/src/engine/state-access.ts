import { equalBytes } from "@rnode/primitives";
import type { Log } from "@rnode/protocol";
import type { HaltReason } from "../execution.ts";
import type { EngineInstance } from "./host.ts";
import {
  A_BALANCE,
  A_CODE_HASH,
  A_EXISTS,
  A_NONCE,
  A_RAW_ADDRESS,
  C_BYTES,
  C_LENGTH,
  HALT_NAMES,
  R_CREATED,
  R_FAULT_OPCODE,
  R_GAS,
  R_HALT,
  R_LOGS,
  R_LOGS_LENGTH,
  R_OUTPUT,
  R_OUTPUT_LENGTH,
  R_REFUND,
  S_VALUE,
  X_ADDRESS,
  X_KEY,
  X_VALUE,
} from "./layout.ts";
import { readLogs } from "./log-records.ts";

/** Pointer to an account entry; valid until the next block begins. */
export type AccountPointer = number;

/** The result of a message; `logs` are only copied on request. */
export interface MessageResult {
  readonly halt: HaltReason | undefined;
  /** set if `halt` is invalid-opcode */
  readonly invalidOpcode: number | undefined;
  readonly gasLeft: bigint;
  /** refund counter, before the limit is applied */
  readonly refund: bigint;
  readonly output: Uint8Array;
  readonly createdAddress: Uint8Array | undefined;
}

/** The most gas a message can have: a signed 64-bit number. */
const MAX_GAS = (1n << 63n) - 1n;

/** State and execution as transactions use them, on one engine. Pointers come from `account`. */
export class StateAccess {
  readonly #instance: EngineInstance;

  constructor(instance: EngineInstance) {
    this.#instance = instance;
  }

  account(address: Uint8Array): AccountPointer {
    this.#instance.memory.bytes.set(address, X_ADDRESS);
    return this.#instance.exports.account();
  }

  address(account: AccountPointer): Uint8Array {
    return this.#instance.memory.slice(account + A_RAW_ADDRESS, 20);
  }

  exists(account: AccountPointer): boolean {
    return this.#instance.memory.u32(account + A_EXISTS) !== 0;
  }

  balance(account: AccountPointer): bigint {
    return this.#instance.memory.word(account + A_BALANCE);
  }

  nonce(account: AccountPointer): bigint {
    return this.#instance.memory.u64(account + A_NONCE);
  }

  codeHash(account: AccountPointer): Uint8Array {
    return this.#instance.memory.slice(account + A_CODE_HASH, 32);
  }

  hasCodeHash(account: AccountPointer, codeHash: Uint8Array): boolean {
    const at = account + A_CODE_HASH;
    return equalBytes(this.#instance.memory.bytes.subarray(at, at + 32), codeHash);
  }

  /** A copy. */
  code(account: AccountPointer): Uint8Array {
    const { exports, memory } = this.#instance;
    const entry = exports.codeOf(account);
    return memory.slice(memory.u32(entry + C_BYTES), memory.u32(entry + C_LENGTH));
  }

  addBalance(account: AccountPointer, amount: bigint): void {
    this.#instance.memory.setWord(X_VALUE, amount);
    this.#instance.exports.addBalance(account);
  }

  /** The caller has checked the balance. */
  subtractBalance(account: AccountPointer, amount: bigint): void {
    this.#instance.memory.setWord(X_VALUE, amount);
    this.#instance.exports.subtractBalance(account);
  }

  setNonce(account: AccountPointer, nonce: bigint): void {
    this.#instance.exports.setNonce(account, nonce);
  }

  setCode(account: AccountPointer, code: Uint8Array): void {
    const { exports, memory } = this.#instance;
    const at = exports.reserveInput(code.length);
    memory.bytes.set(code, at);
    exports.setCode(account, at, code.length);
  }

  /** Marks an account as accessed without reading its state (EIP-2929). */
  warmAccount(address: Uint8Array): AccountPointer {
    const { exports, memory } = this.#instance;
    memory.bytes.set(address, X_ADDRESS);
    const account = exports.unloadedAccount();
    exports.warmAccount(account);
    return account;
  }

  warmSlot(account: AccountPointer, slot: Uint8Array): void {
    this.#instance.memory.setRawWord(X_KEY, slot);
    this.#instance.exports.warmSlot(account);
  }

  storage(account: AccountPointer, slot: bigint): bigint {
    const { exports, memory } = this.#instance;
    memory.setWord(X_KEY, slot);
    return memory.word(exports.slot(account) + S_VALUE);
  }

  /** 32 bytes, a copy */
  rawStorage(account: AccountPointer, slot: Uint8Array): Uint8Array {
    const { exports, memory } = this.#instance;
    memory.setRawWord(X_KEY, slot);
    return memory.rawWord(exports.slot(account) + S_VALUE);
  }

  // ---- outside transactions, never undone

  overrideBalance(account: AccountPointer, balance: bigint): void {
    this.#instance.memory.setWord(X_VALUE, balance);
    this.#instance.exports.overrideBalance(account);
  }

  overrideNonce(account: AccountPointer, nonce: bigint): void {
    this.#instance.exports.overrideNonce(account, nonce);
  }

  overrideStorage(account: AccountPointer, slot: Uint8Array, value: Uint8Array): void {
    const { exports, memory } = this.#instance;
    memory.setRawWord(X_KEY, slot);
    memory.setRawWord(X_VALUE, value);
    exports.overrideStorage(account);
  }

  clearStorage(account: AccountPointer): void {
    this.#instance.exports.clearStorage(account);
  }

  // ---- transactions and messages

  beginTransaction(): void {
    this.#instance.exports.beginTransaction();
  }

  endTransaction(): void {
    this.#instance.exports.endTransaction();
  }

  checkpoint(): number {
    return this.#instance.exports.checkpoint();
  }

  revertTo(checkpoint: number): void {
    this.#instance.exports.revertTo(checkpoint);
  }

  /** Counts gas that a transaction burns before its message runs. */
  addBurned(gas: bigint): void {
    this.#instance.exports.addBurned(gas);
  }

  /** Runs a message; `to` undefined creates a contract. The sender's nonce has already been increased. */
  execute(sender: AccountPointer, to: AccountPointer | undefined, value: bigint, data: Uint8Array, gas: bigint): MessageResult {
    const { exports, memory } = this.#instance;
    const input = exports.reserveInput(data.length);
    memory.bytes.set(data, input);
    memory.setWord(X_VALUE, value);
    exports.execute(sender, to ?? 0, input, data.length, gas > MAX_GAS ? MAX_GAS : gas);
    return this.#result();
  }

  /** Runs a call whose sender's account is not read. */
  executeAs(caller: Uint8Array, to: AccountPointer, data: Uint8Array, gas: bigint): MessageResult {
    this.#instance.memory.setRawWord(X_KEY, caller);
    return this.execute(0, to, 0n, data, gas);
  }

  #result(): MessageResult {
    const { memory } = this.#instance;
    const created = memory.u32(R_CREATED);
    const halt = HALT_NAMES[memory.u32(R_HALT)];
    return {
      halt,
      invalidOpcode: halt === "invalid-opcode" ? memory.u32(R_FAULT_OPCODE) : undefined,
      gasLeft: memory.i64(R_GAS),
      refund: memory.i64(R_REFUND),
      output: memory.slice(memory.u32(R_OUTPUT), memory.u32(R_OUTPUT_LENGTH)),
      createdAddress: created === 0 ? undefined : this.address(created),
    };
  }

  /** The logs of the last message, as views of one copy. */
  logs(): Log[] {
    const { memory } = this.#instance;
    const length = memory.u32(R_LOGS_LENGTH);
    return length === 0 ? [] : readLogs(memory.slice(memory.u32(R_LOGS), length));
  }
}

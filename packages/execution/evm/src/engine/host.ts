import { bytesToHex, CodedError, exactInteger, type Hex } from "@rnode/primitives";
import type { EvmErrorCode } from "../errors.ts";
import type { StateReader } from "../state.ts";
import type { EvmTracer, FaultyStep, TraceStep } from "../tracer.ts";
import {
  A_BALANCE,
  A_CODE_HASH,
  A_EXISTS,
  A_NONCE,
  A_RAW_ADDRESS,
  C_BYTES,
  F_DEPTH,
  F_GAS,
  F_MEMORY,
  F_MEMORY_SIZE,
  F_SELF,
  F_SP,
  F_STACK,
  HALT_NAMES,
  L_SIZE,
  M_CALLER,
  M_CODE,
  M_DEPTH,
  M_GAS,
  M_INPUT,
  M_INPUT_LENGTH,
  M_KIND,
  M_SELF,
  M_STATIC,
  M_VALUE,
  MESSAGE_KINDS,
  R_BURNED,
  R_BURNED_SINCE,
  R_FAULT_HEIGHT,
  R_FAULT_OPCODE,
  R_OUTPUT,
  R_OUTPUT_LENGTH,
  R_REPORTED,
  X_HASH,
  X_VALUE,
} from "./layout.ts";
import { readLogs } from "./log-records.ts";
import { EngineMemory } from "./memory.ts";
import { type EngineExports, type EvmModule, instantiate } from "./module.ts";

/** The precompiles of the host, by address as a number. */
export interface HostPrecompiles {
  get(address: number):
    | {
        gas(input: Uint8Array): bigint;
        /** called only if the gas suffices; `undefined`: failure */
        run(input: Uint8Array): Uint8Array | undefined;
      }
    | undefined;
}

/** A precompile that costs more may take longer than a slice. */
const LONG_STEP_GAS = 100_000n;

/** One engine instance and the data for its host functions, which is replaced for every block. */
export class EngineInstance {
  readonly memory = new EngineMemory();
  readonly exports: EngineExports;
  reader: StateReader = NO_STATE;
  precompiles: HostPrecompiles = new Map();
  tracer: EvmTracer | undefined;
  onSlice: ((stepGas: bigint) => void) | undefined;
  /** frame of the last instruction that was reported to a tracer */
  #lastFrame = 0;
  #lastOpcode = 0;
  /** code deployed in this block, by hash */
  readonly newCodes = new Map<Hex, Uint8Array>();

  constructor(module: EvmModule) {
    this.exports = instantiate(module, {
      loadAccount: (account: number) => this.#loadAccount(account),
      loadStorage: (account: number, out: number) => this.#loadStorage(account, out),
      loadCode: (hash: number) => this.#loadCode(hash),
      hasStorage: (account: number) => this.#hasStorage(account),
      blockHash: (number: bigint) => this.#blockHash(number),
      newCode: (hash: number, bytes: number, length: number) => {
        this.newCodes.set(bytesToHex(this.memory.bytes.subarray(hash, hash + 32)), this.memory.slice(bytes, length));
      },
      precompile: (id: number, input: number, length: number, gas: bigint) => this.#precompile(id, input, length, gas),
      memoryGrown: () => this.memory.refresh(this.exports.memory.buffer),
      outOfMemory: () => {
        throw new CodedError<EvmErrorCode>("evm/out-of-memory", { bytes: this.memory.bytes.length });
      },
      slice: () => {
        this.tracer?.onTick?.(); // stepping, there are no slices
        this.onSlice?.(0n);
      },
      longStep: (gas: bigint) => this.onSlice?.(gas),
      traceStep: (frame: number, pc: number, opcode: number) => {
        this.#lastFrame = frame;
        this.#lastOpcode = opcode;
        const { tracer } = this;
        if ((tracer?.detail ?? "steps") === "steps") tracer?.onTick?.();
        tracer?.onStep?.(this.#step(frame, pc, opcode));
      },
      traceEnter: () => this.#traceEnter(),
      traceExit: (depth: number, halt: number, gasLeft: bigint) => this.#traceExit(depth, halt, gasLeft),
      traceSelfDestruct: (self: number, beneficiary: number) =>
        this.tracer?.onSelfDestruct?.(this.addressOf(self), this.addressOf(beneficiary), this.memory.word(X_VALUE)),
      traceLog: (record: number) => this.#traceLog(record),
    });
    this.memory.refresh(this.exports.memory.buffer);
  }

  /** since the creation of the instance */
  get gasBurned(): bigint {
    return this.memory.i64(R_BURNED) + this.memory.i64(R_BURNED_SINCE);
  }

  /** A view of an account entry's raw address. */
  addressOf(account: number): Uint8Array {
    return this.memory.bytes.subarray(account + A_RAW_ADDRESS, account + A_RAW_ADDRESS + 20);
  }

  #loadAccount(account: number): void {
    const record = this.reader.readAccount(this.addressOf(account));
    if (record === undefined) return;
    const { memory } = this;
    memory.setU32(account + A_EXISTS, 1);
    memory.setU64(account + A_NONCE, record.nonce);
    memory.setWord(account + A_BALANCE, record.balance);
    memory.bytes.set(record.codeHash, account + A_CODE_HASH);
  }

  #loadStorage(account: number, out: number): void {
    const { memory } = this;
    const value = this.reader.readStorage(this.addressOf(account), memory.bytes.subarray(X_HASH, X_HASH + 32));
    if (value !== undefined) memory.setRawWord(out, value);
  }

  #loadCode(hash: number): number {
    const hashBytes = this.memory.slice(hash, 32);
    const deployed = this.newCodes.size === 0 ? undefined : this.newCodes.get(bytesToHex(hashBytes));
    const code = deployed ?? this.reader.readCode(hashBytes);
    const entry = this.exports.reserveCode(hash, code.length);
    this.memory.bytes.set(code, this.memory.u32(entry + C_BYTES));
    this.exports.finishCode(entry);
    return entry;
  }

  #hasStorage(account: number): number {
    return this.reader.hasStorage?.(this.addressOf(account)) === true ? 1 : 0;
  }

  #blockHash(number: bigint): number {
    const hash = this.reader.readBlockHash(exactInteger(BigInt.asUintN(64, number)));
    if (hash === undefined) return 0;
    this.memory.bytes.set(hash, X_HASH);
    return 1;
  }

  /** Returns the gas cost, or −1 for a failure. */
  #precompile(id: number, input: number, length: number, gas: bigint): bigint {
    const precompile = this.precompiles.get(id);
    if (precompile === undefined) return -1n;
    const data = this.memory.bytes.subarray(input, input + length);
    const cost = precompile.gas(data);
    if (cost > gas) return -1n;
    if (cost > LONG_STEP_GAS) this.onSlice?.(cost);
    const output = precompile.run(data);
    if (output === undefined) return -1n;
    const at = this.exports.reserveOutput(output.length);
    this.memory.bytes.set(output, at);
    return cost;
  }

  #step(frame: number, pc: number, opcode: number): TraceStep {
    const { memory } = this;
    const sp = memory.u32(frame + F_SP);
    const memoryAt = memory.u32(frame + F_MEMORY);
    const memorySize = memory.u32(frame + F_MEMORY_SIZE);
    return {
      pc,
      opcode,
      gas: memory.i64(frame + F_GAS),
      depth: memory.u32(frame + F_DEPTH),
      stackSize: this.#stackSize(frame),
      address: this.addressOf(memory.u32(frame + F_SELF)),
      stack: (fromTop) => memory.word(sp - 32 * fromTop),
      memorySize,
      // evaluated on access: a tracer that reads the state can make the memory grow
      memory: () => memory.bytes.subarray(memoryAt, memoryAt + memorySize),
      returnData: () => this.returnData(),
      refund: () => this.exports.refundCounter(),
    };
  }

  #lastStep(): FaultyStep {
    return { opcode: this.#lastOpcode, stackSize: this.#stackSize(this.#lastFrame) };
  }

  /** Whether the last instruction was reported to the tracer. */
  #wasReported(): boolean {
    switch (this.tracer?.detail ?? "steps") {
      case "messages":
        return false;
      case "touches":
        return this.memory.u32(R_REPORTED) !== 0;
      case "steps":
        return true;
    }
  }

  /** The instruction that ended a message, if the engine has it without reported steps. */
  #fault(halt: number): FaultyStep | undefined {
    const name = HALT_NAMES[halt];
    if (name !== "invalid-opcode" && name !== "stack-underflow" && name !== "stack-overflow") return undefined;
    return { opcode: this.memory.u32(R_FAULT_OPCODE), stackSize: this.memory.u32(R_FAULT_HEIGHT) };
  }

  #stackSize(frame: number): number {
    return (this.memory.u32(frame + F_SP) + 32 - this.memory.u32(frame + F_STACK)) / 32;
  }

  /** A view of the last call's output. */
  returnData(): Uint8Array {
    const at = this.memory.u32(R_OUTPUT);
    return this.memory.bytes.subarray(at, at + this.memory.u32(R_OUTPUT_LENGTH));
  }

  #traceEnter(): void {
    const { memory, tracer } = this;
    if (tracer?.onEnter === undefined) return;
    const input = memory.u32(M_INPUT);
    const addressOrNone = (account: number) => (account === 0 ? undefined : this.addressOf(account));
    tracer.onEnter({
      kind: MESSAGE_KINDS[memory.u32(M_KIND)]!,
      depth: memory.u32(M_DEPTH),
      from: this.addressOf(memory.u32(M_CALLER)),
      to: addressOrNone(memory.u32(M_SELF)),
      codeAddress: addressOrNone(memory.u32(M_CODE)),
      gas: memory.i64(M_GAS),
      value: memory.word(M_VALUE),
      input: memory.bytes.subarray(input, input + memory.u32(M_INPUT_LENGTH)),
      isStatic: memory.u32(M_STATIC) !== 0,
    });
  }

  #traceExit(depth: number, halt: number, gasLeft: bigint): void {
    this.tracer?.onExit?.({
      depth,
      halt: HALT_NAMES[halt],
      gasLeft,
      output: this.returnData(),
      lastStep: () => (this.#wasReported() ? this.#lastStep() : this.#fault(halt)),
    });
  }

  #traceLog(record: number): void {
    if (this.tracer?.onLog === undefined) return;
    const [log] = readLogs(this.memory.slice(record, this.memory.u32(record + L_SIZE)));
    this.tracer.onLog(log!.address, log!.topics, log!.data);
  }
}

const NO_STATE: StateReader = {
  readAccount: () => undefined,
  readStorage: () => undefined,
  readCode: () => {
    throw new CodedError<EvmErrorCode>("evm/stale-block");
  },
  readBlockHash: () => undefined,
};

import type { TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { bigintToBytes, bytesToHex, toQuantity } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { gasFromStack } from "./instruction-gas.ts";
import { instructionOf, OP } from "./opcodes.ts";
import type { TraceContext, TraceOutcome, TraceState, TransactionTracer } from "./transaction-tracer.ts";

export interface StructLoggerConfig {
  readonly disableStack: boolean;
  readonly disableStorage: boolean;
  readonly enableMemory: boolean;
  readonly enableReturnData: boolean;
  /** most steps; 0: no limit */
  readonly limit: number;
}

/** A step whose cost is not known before the next one. */
interface PendingStep {
  /** undefined: beyond the limit, not shown */
  readonly log: JsonObject | undefined;
  readonly opcode: number;
  readonly stackSize: number;
  readonly gas: bigint;
  /** as far as the stack tells; only where it may be needed */
  readonly stackCost: bigint;
  /** gas that went into the call it made, and what came back */
  forwarded: bigint;
  returned: bigint;
}

interface LoggedFrame {
  readonly isCreation: boolean;
  pending: PendingStep | undefined;
}

const CODE_DEPOSIT_GAS = 200n;
/** of a step without its lists, and of a word, as JSON */
const STEP_BYTES = 100;
const WORD_BYTES = 32;

/** Geth's default tracer: every instruction with its gas, stack, memory and storage. */
export class StructLogger implements TransactionTracer {
  readonly #config: StructLoggerConfig;
  readonly #dialect: TraceDialect;
  readonly #logs: JsonObject[] = [];
  readonly #frames: LoggedFrame[] = [];
  /** slots seen, by account */
  readonly #storage = new Map<string, Record<string, string>>();
  #state: TraceState | undefined;
  #heldBytes = 0;

  heldBytes(): number {
    return this.#heldBytes;
  }

  constructor(config: StructLoggerConfig, dialect: TraceDialect) {
    this.#config = config;
    this.#dialect = dialect;
  }

  onStart({ state }: TraceContext): void {
    this.#state = state;
  }

  onEnter({ kind, gas }: TraceMessage): void {
    const pending = this.#frames.at(-1)?.pending;
    if (pending !== undefined) pending.forwarded = gas;
    this.#frames.push({ isCreation: kind === "create" || kind === "create2", pending: undefined });
  }

  onStep(step: TraceStep): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    this.#settle(frame, step.gas);
    const { opcode, gas, stackSize } = step;
    const { limit } = this.#config;
    const isShown = limit === 0 || this.#logs.length < limit;
    const stackCost = gasFromStack(step);
    const log = isShown ? this.#logOf(step) : undefined;
    frame.pending = { log, opcode, stackSize, gas, stackCost, forwarded: 0n, returned: 0n };
  }

  onExit({ halt, gasLeft, output }: TraceResult): void {
    const frame = this.#frames.pop();
    const last = frame?.pending;
    if (frame !== undefined && last !== undefined) this.#end(frame, last, halt, gasLeft, output.length);
    const caller = this.#frames.at(-1)?.pending;
    if (caller !== undefined) caller.returned = gasLeft;
  }

  result({ gasUsed, halt, output }: TraceOutcome): JsonObject {
    const hasOutput = halt === undefined || halt === "revert";
    return {
      gas: Number(gasUsed),
      failed: halt !== undefined,
      returnValue: bytesToHex(hasOutput ? output : new Uint8Array(0)),
      structLogs: this.#logs,
    };
  }

  /** The instruction before is over: its frame goes on with `gasNow`. */
  #settle({ pending }: LoggedFrame, gasNow: bigint): void {
    if (pending?.log === undefined) return;
    const { opcode, gas, forwarded, returned } = pending;
    const isCreate = opcode === OP.create || opcode === OP.create2;
    const isApart = isCreate && !this.#dialect.structLog.creationCostHasForwarded;
    pending.log.gasCost = Number(gas - gasNow + returned - (isApart ? forwarded : 0n));
  }

  #end(frame: LoggedFrame, last: PendingStep, halt: TraceResult["halt"], gasLeft: bigint, outputBytes: number): void {
    const { log, opcode, gas, stackCost } = last;
    if (log === undefined) return;
    if (halt === undefined) {
      const deposit = frame.isCreation ? CODE_DEPOSIT_GAS * BigInt(outputBytes) : 0n;
      log.gasCost = Number(gas - gasLeft - deposit);
      return;
    }
    if (halt === "revert") {
      log.gasCost = Number(gas - gasLeft);
      return;
    }
    log.gasCost = Number(stackCost);
    // What fails after RETURN is the deployment of the code, not the instruction.
    if (opcode === OP.return && stackCost <= gas && halt !== "stack-underflow") return;
    const isStackFault = halt === "stack-underflow" || halt === "stack-overflow";
    if (isStackFault || (halt === "out-of-gas" && this.#dialect.structLog.failedCost === "constant"))
      log.gasCost = instructionOf(opcode).constantGas;
    const error = this.#dialect.stepError(halt, last);
    if (error !== undefined) log.error = error;
  }

  #logOf(step: TraceStep): JsonObject {
    const { disableStack, enableMemory, enableReturnData } = this.#config;
    const { hasPrefix, showsEmpty } = this.#dialect.structLog;
    const { opcode, stackSize } = step;
    const refund = step.refund();
    const log: JsonObject = {
      pc: step.pc,
      op: instructionOf(opcode).name,
      gas: Number(step.gas),
      gasCost: 0, // known later
      depth: step.depth + 1,
    };
    this.#heldBytes += STEP_BYTES;
    if (!disableStack) {
      this.#heldBytes += WORD_BYTES * stackSize;
      log.stack = Array.from({ length: stackSize }, (_, i) => toQuantity(step.stack(stackSize - 1 - i)));
    }
    if (enableMemory) {
      const memory = bytesToHex(step.memory()).slice(2);
      this.#heldBytes += memory.length;
      log.memory = Array.from(
        { length: memory.length / 64 },
        (_, i) => `${hasPrefix ? "0x" : ""}${memory.slice(64 * i, 64 * i + 64)}`,
      );
    }
    if (enableReturnData) {
      const data = step.returnData();
      this.#heldBytes += 2 * data.length;
      if (showsEmpty || data.length > 0) log.returnData = bytesToHex(data);
    }
    if (showsEmpty || refund !== 0n) log.refund = Number(refund);
    const storage = this.#storageOf(step); // reads the state: last
    if (storage !== undefined) log.storage = storage;
    this.#logs.push(log);
    return log;
  }

  /** Slots of the account seen so far, at the two instructions that touch one. */
  #storageOf({ opcode, stackSize, stack, address }: TraceStep): Readonly<Record<string, string>> | undefined {
    const isLoad = opcode === OP.sload && stackSize >= 1;
    if (this.#config.disableStorage || !(isLoad || (opcode === OP.sstore && stackSize >= 2))) return undefined;
    const account = bytesToHex(address);
    const slot = bigintToBytes(stack(0), 32);
    const value = isLoad ? this.#state!.getStorage(address.slice(), slot) : bigintToBytes(stack(1), 32);
    const text = (bytes: Uint8Array): string =>
      this.#dialect.structLog.hasPrefix ? bytesToHex(bytes) : bytesToHex(bytes).slice(2);
    const slots = { ...this.#storage.get(account), [text(slot)]: text(value) };
    this.#storage.set(account, slots);
    this.#heldBytes += 2 * WORD_BYTES * Object.keys(slots).length;
    return slots;
  }
}

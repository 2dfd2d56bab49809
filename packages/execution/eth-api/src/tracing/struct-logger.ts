import type { TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { bigintToBytes, bytesToHex, toQuantity } from "@rnode/primitives";
import { instructionOf, OP } from "../instructions/opcodes.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { InstructionCosts } from "./instruction-costs.ts";
import type { TraceContext, TraceOutcome, TraceState, TransactionTracer } from "./transaction-tracer.ts";

export interface StructLoggerConfig {
  readonly disableStack: boolean;
  readonly disableStorage: boolean;
  readonly enableMemory: boolean;
  readonly enableReturnData: boolean;
  /** the most steps to record; 0: no limit */
  readonly limit: number;
}

/** size of a step without its lists, and of a word, as JSON */
const STEP_BYTES = 100;
const WORD_BYTES = 32;

/** Geth's default tracer: every instruction with its gas, stack, memory and storage. */
export class StructLogger implements TransactionTracer {
  readonly #config: StructLoggerConfig;
  readonly #dialect: TraceDialect;
  readonly #logs: JsonObject[] = [];
  readonly #costs: InstructionCosts<JsonObject>;
  /** slots seen so far, by account */
  readonly #storage = new Map<string, Record<string, string>>();
  #state: TraceState | undefined;
  #heldBytes = 0;

  heldBytes(): number {
    return this.#heldBytes;
  }

  constructor(config: StructLoggerConfig, dialect: TraceDialect) {
    this.#config = config;
    this.#dialect = dialect;
    this.#costs = new InstructionCosts(dialect, (log, cost, error) => {
      log.gasCost = Number(cost);
      if (error !== undefined) log.error = error;
    });
  }

  onStart({ state }: TraceContext): void {
    this.#state = state;
  }

  onEnter(message: TraceMessage): void {
    this.#costs.onEnter(message);
  }

  onStep(step: TraceStep): void {
    const counted = this.#costs.onStep(step);
    if (counted === undefined) return;
    const { limit } = this.#config;
    if (limit === 0 || this.#logs.length < limit) counted.item = this.#logOf(step);
  }

  onExit(result: TraceResult): void {
    this.#costs.onExit(result);
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

  #logOf(step: TraceStep): JsonObject {
    const { disableStack, enableMemory, enableReturnData } = this.#config;
    const { hasPrefix, showsEmpty } = this.#dialect.structLog;
    const { opcode, stackSize } = step;
    const refund = step.refund();
    const log: JsonObject = {
      pc: step.pc,
      op: instructionOf(opcode).name,
      gas: Number(step.gas),
      gasCost: 0, // set once it is known
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
      if (showsEmpty || memory.length > 0)
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
    const storage = this.#storageOf(step); // last, because it reads the state
    if (storage !== undefined) log.storage = storage;
    this.#logs.push(log);
    return log;
  }

  /** For the two instructions that access storage: the slots of the account seen so far. */
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

import type { HaltReason, TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { gasFromStack } from "../instructions/instruction-gas.ts";
import { instructionOf, OP } from "../instructions/opcodes.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";

/** An instruction whose cost is not known before the next one starts. */
export interface CountedStep<T> {
  /** the caller's record of the instruction; undefined: its cost is not needed */
  item: T | undefined;
  readonly opcode: number;
  readonly stackSize: number;
  readonly gas: bigint;
  /** the cost as far as the stack reveals it; set only where it may be needed */
  readonly stackCost: bigint;
  /** gas that went into the call it made, and gas that came back */
  forwarded: bigint;
  returned: bigint;
}

interface CountedFrame<T> {
  readonly isCreation: boolean;
  pending: CountedStep<T> | undefined;
}

const CODE_DEPOSIT_GAS = 200n;

/** Determines what each instruction cost, once that is known. The cost of a call includes the gas that it forwarded. */
export class InstructionCosts<T> {
  readonly #dialect: TraceDialect;
  readonly #onCost: (item: T, cost: bigint, error: string | undefined) => void;
  readonly #frames: CountedFrame<T>[] = [];

  /** @param onCost called with each item; `error` says why the instruction failed, where the dialect shows that */
  constructor(dialect: TraceDialect, onCost: (item: T, cost: bigint, error: string | undefined) => void) {
    this.#dialect = dialect;
    this.#onCost = onCost;
  }

  onEnter({ kind, gas }: TraceMessage): void {
    const pending = this.#frames.at(-1)?.pending;
    if (pending !== undefined) pending.forwarded = gas;
    this.#frames.push({ isCreation: kind === "create" || kind === "create2", pending: undefined });
  }

  /** @returns the step, whose `item` the caller sets; undefined outside of all frames */
  onStep(step: TraceStep): CountedStep<T> | undefined {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return undefined;
    this.#settle(frame, step.gas);
    const { opcode, gas, stackSize } = step;
    frame.pending = { item: undefined, opcode, stackSize, gas, stackCost: gasFromStack(step), forwarded: 0n, returned: 0n };
    return frame.pending;
  }

  onExit({ halt, gasLeft, output }: TraceResult): void {
    const frame = this.#frames.pop();
    const last = frame?.pending;
    if (frame !== undefined && last !== undefined) this.#end(frame, last, halt, gasLeft, output.length);
    const caller = this.#frames.at(-1)?.pending;
    if (caller !== undefined) caller.returned = gasLeft;
  }

  /** Ends the previous instruction of this frame; `gasNow` is the remaining gas of the frame. */
  #settle({ pending }: CountedFrame<T>, gasNow: bigint): void {
    if (pending?.item === undefined) return;
    const { item, opcode, gas, forwarded, returned } = pending;
    const isCreate = opcode === OP.create || opcode === OP.create2;
    const isApart = isCreate && !this.#dialect.structLog.creationCostHasForwarded;
    this.#onCost(item, gas - gasNow + returned - (isApart ? forwarded : 0n), undefined);
  }

  #end(frame: CountedFrame<T>, last: CountedStep<T>, halt: TraceResult["halt"], gasLeft: bigint, outputBytes: number): void {
    const { item, opcode, gas, stackCost } = last;
    if (item === undefined) return;
    const deposit = halt === undefined && frame.isCreation ? CODE_DEPOSIT_GAS * BigInt(outputBytes) : 0n;
    // A failure after RETURN is a failure of the code's deployment, not of the instruction.
    const isDeployment = opcode === OP.return && stackCost <= gas && halt !== "stack-underflow";
    if (halt === undefined || halt === "revert") this.#onCost(item, gas - gasLeft - deposit, undefined);
    else if (isDeployment) this.#onCost(item, stackCost, undefined);
    else this.#onCost(item, this.#costOfFailed(last, halt), this.#dialect.stepError(halt, last));
  }

  #costOfFailed({ opcode, stackCost }: CountedStep<T>, halt: HaltReason): bigint {
    const isStackFault = halt === "stack-underflow" || halt === "stack-overflow";
    const isConstant = isStackFault || (halt === "out-of-gas" && this.#dialect.structLog.failedCost === "constant");
    return isConstant ? BigInt(instructionOf(opcode).constantGas) : stackCost;
  }
}

import type { EvmTracer, HaltReason, TraceStep } from "@rnode/evm";
import { bytesToHex } from "@rnode/primitives";

/** The trace of an endless loop is of no use and would fill the memory. */
const MAX_STEPS = 500_000;

interface Step {
  /** the part of the line that is known before the instruction */
  readonly head: string;
  readonly gas: bigint;
  cost: bigint;
  error: HaltReason | undefined;
}

interface Frame {
  open: Step | undefined;
  /** gas that the last inner message returned */
  returned: bigint;
}

const hex = (value: bigint): string => `"0x${value.toString(16)}"`;

/**
 * Records a transaction's steps in the form of EIP-3155: one JSON object per line, numbers in hex except for pc, op, depth and
 * memSize, without memory. The cost of a call includes the gas that it passed on. The cost of a step is only known when the next
 * one of the same message begins, so the lines are written at the end.
 */
export class StepTrace {
  readonly #steps: Step[] = [];
  readonly #frames: Frame[] = [];
  #isCut = false;
  readonly tracer: EvmTracer = {
    onStep: (step) => this.#add(step),
    onEnter: () => {
      this.#frames.push({ open: undefined, returned: 0n });
    },
    onExit: ({ gasLeft, halt }) => this.#leave(gasLeft, halt),
  };

  #add(step: TraceStep): void {
    const { gas } = step;
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    if (frame.open !== undefined) frame.open.cost = frame.open.gas - (gas - frame.returned);
    frame.returned = 0n;
    frame.open = undefined;
    if (this.#steps.length === MAX_STEPS) {
      this.#isCut = true;
      return;
    }
    frame.open = { head: headOf(step), gas, cost: 0n, error: undefined };
    this.#steps.push(frame.open);
  }

  #leave(gasLeft: bigint, halt: HaltReason | undefined): void {
    const frame = this.#frames.pop();
    if (frame?.open !== undefined) {
      frame.open.cost = frame.open.gas - gasLeft;
      if (halt !== "revert") frame.open.error = halt;
    }
    const outer = this.#frames.at(-1);
    if (outer !== undefined) outer.returned = gasLeft;
  }

  lines(): string[] {
    const lines = this.#steps.map(({ head, gas, cost, error }) => {
      const end = error === undefined ? "" : `,"error":"${error}"`;
      return `{${head},"gas":${hex(gas)},"gasCost":${hex(cost < 0n ? 0n : cost)}${end}}`;
    });
    if (this.#isCut) lines.push(`{"error":"only the first ${MAX_STEPS} steps are shown"}`);
    return lines;
  }
}

function headOf({ pc, opcode, depth, stack, stackSize, memorySize, returnData, refund }: TraceStep): string {
  const words = Array.from({ length: stackSize }, (_, index) => hex(stack(stackSize - 1 - index)));
  const place = `"pc":${pc},"op":${opcode},"depth":${depth + 1},"memSize":${memorySize}`;
  return `${place},"stack":[${words.join(",")}],"returnData":"${bytesToHex(returnData())}","refund":${hex(refund())}`;
}

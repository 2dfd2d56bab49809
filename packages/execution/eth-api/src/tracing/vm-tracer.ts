import type { EvmTracer, TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { bytesToHex, type Hex, toQuantity } from "@rnode/primitives";
import { gasFromStack } from "../instructions/instruction-gas.ts";
import { instructionOf, OP } from "../instructions/opcodes.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceContext, TraceState } from "./transaction-tracer.ts";

/** Parity's `vmTrace` for one message. */
export interface VmTrace {
  /** the code that ran */
  code: Hex;
  readonly ops: JsonObject[];
}

interface PendingOp {
  readonly op: JsonObject;
  readonly opcode: number;
  readonly gas: bigint;
  readonly stackCost: bigint;
  /** the whole memory before the instruction */
  readonly mem: JsonObject;
  readonly store: JsonObject | null;
  returned: bigint;
}

interface VmFrame {
  readonly trace: VmTrace;
  /** where to read the code from at the first instruction, because the state cannot be read earlier */
  codeAddress: Uint8Array | undefined;
  pending: PendingOp | undefined;
}

/** size of an instruction as JSON */
const OP_BYTES = 250;

/** Records what every instruction did. */
export class VmTracer implements EvmTracer {
  readonly #frames: VmFrame[] = [];
  #state: TraceState | undefined;
  /** by address: the code before the transaction of accounts that it delegates */
  readonly #codeBefore = new Map<Hex, Hex>();
  #root: VmTrace | undefined;
  #heldBytes = 0;

  heldBytes(): number {
    return this.#heldBytes;
  }

  onStart({ state, message }: TraceContext): void {
    this.#state = state;
    this.#codeBefore.clear();
    for (const { authority } of message.delegations)
      this.#codeBefore.set(bytesToHex(authority), bytesToHex(state.getCode(authority)));
  }

  onEnter({ kind, codeAddress, input }: TraceMessage): void {
    const isCreation = kind === "create" || kind === "create2";
    const trace: VmTrace = { code: isCreation ? bytesToHex(input) : "0x", ops: [] };
    this.#frames.push({ trace, codeAddress: isCreation ? undefined : codeAddress?.slice(), pending: undefined });
  }

  onStep(step: TraceStep): void {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    this.#settle(frame, step);
    const { opcode, gas, pc } = step;
    const op: JsonObject = { pc, cost: 0, ex: null, sub: null, op: instructionOf(opcode).name };
    frame.trace.ops.push(op);
    const mem = memoryOf(step);
    this.#heldBytes += OP_BYTES + (mem.data as string).length;
    frame.pending = { op, opcode, gas, stackCost: gasFromStack(step), mem, store: stored(step), returned: 0n };
    if (frame.codeAddress !== undefined) {
      frame.trace.code = this.#codeBefore.get(bytesToHex(frame.codeAddress)) ?? bytesToHex(this.#state!.getCode(frame.codeAddress));
      this.#heldBytes += frame.trace.code.length;
      frame.codeAddress = undefined;
    }
  }

  onExit({ gasLeft, halt }: TraceResult): void {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    const { pending, trace } = frame;
    if (pending !== undefined) {
      const isReturn = pending.opcode === OP.return;
      const hasFailed = halt !== undefined && halt !== "revert";
      pending.op.cost = Number(isReturn || hasFailed ? pending.stackCost : pending.gas - gasLeft);
      pending.op.ex = { mem: pending.mem, push: [], store: null, used: Number(pending.gas) };
    }
    const caller = this.#frames.at(-1)?.pending;
    if (caller === undefined) this.#root = trace;
    else {
      caller.returned = gasLeft;
      caller.op.sub = trace;
    }
  }

  result(): VmTrace {
    return this.#root ?? { code: "0x", ops: [] };
  }

  /** Ends the previous instruction, whose pushed items are visible now. */
  #settle({ pending }: VmFrame, { gas, stack, stackSize }: TraceStep): void {
    if (pending === undefined) return;
    const { op, opcode, mem, store, returned } = pending;
    const pushes = Math.min(instructionOf(opcode).pushes, stackSize);
    op.cost = Number(pending.gas - gas + returned);
    op.ex = {
      mem,
      push: Array.from({ length: pushes }, (_, i) => toQuantity(stack(pushes - 1 - i))),
      store,
      used: Number(pending.gas),
    };
  }
}

/** As Reth shows it: all of the memory before each instruction, and its size as the offset. */
function memoryOf(step: TraceStep): JsonObject {
  const memory = step.memory();
  return { data: bytesToHex(memory), off: memory.length };
}

const stored = ({ opcode, stack, stackSize }: TraceStep): JsonObject | null =>
  opcode === OP.sstore && stackSize >= 2 ? { key: toQuantity(stack(0)), val: toQuantity(stack(1)) } : null;

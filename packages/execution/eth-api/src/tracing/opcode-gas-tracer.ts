import type { TraceMessage, TraceResult, TraceStep } from "@rnode/evm";
import { instructionOf } from "../instructions/opcodes.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { InstructionCosts } from "./instruction-costs.ts";
import type { TransactionTracer } from "./transaction-tracer.ts";

interface Use {
  count: number;
  gas: bigint;
}

/** `trace_transactionOpcodeGas`: how often each instruction ran and its total gas. Calls include the gas they forwarded, as in Reth. */
export class OpcodeGasTracer implements TransactionTracer {
  readonly #uses = new Map<number, Use>();
  readonly #costs: InstructionCosts<Use>;

  constructor(dialect: TraceDialect) {
    this.#costs = new InstructionCosts(dialect, (use, cost) => {
      use.gas += cost;
    });
  }

  onEnter(message: TraceMessage): void {
    this.#costs.onEnter(message);
  }

  onStep(step: TraceStep): void {
    const counted = this.#costs.onStep(step);
    if (counted === undefined) return;
    let use = this.#uses.get(step.opcode);
    if (use === undefined) this.#uses.set(step.opcode, (use = { count: 0, gas: 0n }));
    use.count++;
    counted.item = use;
  }

  onExit(result: TraceResult): void {
    this.#costs.onExit(result);
  }

  result(): JsonObject[] {
    const uses = [...this.#uses].sort(([a], [b]) => a - b);
    return uses.map(([opcode, { count, gas }]) => ({ opcode: instructionOf(opcode).name, count, gasUsed: Number(gas) }));
  }
}

import type { TraceResult, TraceStep } from "@rnode/evm";
import { bytesToHex, equalBytes, toQuantity } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { TouchedState } from "./touched-state.ts";
import type { TraceContext } from "./transaction-tracer.ts";

type Delta = "=" | { "+": string } | { "*": { from: string; to: string } };

const delta = (from: string, to: string): Delta => (from === to ? "=" : { "*": { from, to } });

/** Parity's `stateDiff` for one transaction. */
export class StateDiffTracer {
  readonly #touched: TouchedState;

  constructor(dialect: TraceDialect) {
    this.#touched = new TouchedState(dialect);
  }

  onStart(context: TraceContext): void {
    this.#touched.onStart(context, context.rules.keepsDestructedAccounts);
  }

  onStep(step: TraceStep): void {
    this.#touched.onStep(step);
  }

  onExit(result: TraceResult): void {
    this.#touched.onExit(result);
  }

  /** The accounts that changed. Must be called while the transaction's effects are still in place. */
  result(): JsonObject {
    const diff: JsonObject = {};
    for (const [key, before] of this.#touched.accounts) {
      const now = this.#touched.read(before.address);
      const storage: JsonObject = {};
      const wasNothing = before.balance === 0n && before.nonce === 0n && before.code.length === 0;
      const isNew = this.#touched.created.has(key) && wasNothing && (now.nonce > 0n || now.code.length > 0);
      for (const [slot, old] of before.storage) {
        const value = this.#touched.readSlot(before.address, slot);
        if (equalBytes(old, value)) continue;
        storage[slot] = isNew ? { "+": bytesToHex(value) } : delta(bytesToHex(old), bytesToHex(value));
      }
      if (isNew) {
        diff[key] = {
          balance: { "+": toQuantity(now.balance) },
          code: { "+": bytesToHex(now.code) },
          nonce: { "+": toQuantity(now.nonce) },
          storage,
        };
        continue;
      }
      const balance = delta(toQuantity(before.balance), toQuantity(now.balance));
      const nonce = delta(toQuantity(before.nonce), toQuantity(now.nonce));
      // Reth shows code only of new accounts, so that delegations are no change.
      const isSame = balance === "=" && nonce === "=" && Object.keys(storage).length === 0;
      if (!isSame) diff[key] = { balance, code: "=", nonce, storage };
    }
    return diff;
  }
}

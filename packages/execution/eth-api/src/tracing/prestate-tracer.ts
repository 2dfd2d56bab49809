import type { TraceResult, TraceStep } from "@rnode/evm";
import { bytesToHex, equalBytes, type Hex, isZeroBytes, keccak256, toQuantity, ZERO_HASH } from "@rnode/primitives";
import type { JsonObject } from "../json/transaction-json.ts";
import type { TraceDialect } from "../profile/trace-dialect.ts";
import { type TouchedAccount, TouchedState } from "./touched-state.ts";
import type { TraceContext, TransactionTracer } from "./transaction-tracer.ts";

export interface PrestateTracerConfig {
  /** report what changed, before and after, instead of everything that was touched */
  readonly diffMode: boolean;
  readonly disableCode: boolean;
  readonly disableStorage: boolean;
  /** Geth's: also accounts that were empty before */
  readonly includeEmpty: boolean;
}

const isEmpty = ({ balance, nonce, code }: TouchedAccount): boolean => balance === 0n && nonce === 0n && code.length === 0;

/** Geth's `prestateTracer`. */
export class PrestateTracer implements TransactionTracer {
  readonly #config: PrestateTracerConfig;
  readonly #touched: TouchedState;
  readonly #dialect: TraceDialect["prestate"];

  constructor(config: PrestateTracerConfig, dialect: TraceDialect) {
    this.#config = config;
    this.#touched = new TouchedState(dialect);
    this.#dialect = dialect.prestate;
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

  result(): JsonObject {
    return this.#config.diffMode ? this.#diff() : this.#prestate();
  }

  #prestate(): JsonObject {
    const accounts: JsonObject = {};
    const hasEmpty = this.#dialect.hasEmpty || this.#config.includeEmpty;
    for (const [key, account] of this.#touched.accounts) {
      if (!hasEmpty && isEmpty(account)) continue;
      accounts[key] = this.#shown(account, account.storage);
    }
    return accounts;
  }

  #diff(): JsonObject {
    const pre: JsonObject = {};
    const post: JsonObject = {};
    for (const [key, account] of this.#touched.accounts) {
      const isDestroyed = this.#touched.destroyed.has(key);
      const after = isDestroyed ? {} : this.#changesOf(account);
      if (after === undefined) continue;
      if (!isDestroyed) post[key] = after;
      if (isEmpty(account) && (!this.#dialect.hasEmpty || this.#touched.created.has(key))) continue;
      const changed = new Map<Hex, Uint8Array>();
      for (const [slot, before] of account.storage) {
        if (isZeroBytes(before)) continue;
        if (isDestroyed || !equalBytes(before, this.#touched.readSlot(account.address, slot))) changed.set(slot, before);
      }
      pre[key] = this.#shown(account, changed);
    }
    return { post, pre };
  }

  /** The new values of the account's changed fields; undefined: nothing changed. */
  #changesOf(account: TouchedAccount): JsonObject | undefined {
    const { disableCode, disableStorage } = this.#config;
    const now = this.#touched.read(account.address);
    const changes: JsonObject = {};
    let hasChanged = false;
    if (now.balance !== account.balance) changes.balance = toQuantity(now.balance);
    if (now.nonce !== account.nonce) changes.nonce = Number(now.nonce);
    if (!equalBytes(now.code, account.code)) {
      if (this.#dialect.hasCodeHash)
        changes.codeHash = now.code.length === 0 ? bytesToHex(ZERO_HASH) : bytesToHex(keccak256(now.code));
      if (!disableCode && (now.code.length > 0 || this.#dialect.showsRemovedCode)) changes.code = bytesToHex(now.code);
    }
    if (!disableStorage) {
      const storage: Record<string, string> = {};
      for (const [slot, before] of account.storage) {
        const value = this.#touched.readSlot(account.address, slot);
        if (equalBytes(before, value)) continue;
        hasChanged = true;
        if (!isZeroBytes(value)) storage[slot] = bytesToHex(value);
      }
      if (Object.keys(storage).length > 0) changes.storage = storage;
    }
    return hasChanged || Object.keys(changes).length > 0 ? changes : undefined;
  }

  #shown({ balance, nonce, code }: TouchedAccount, storage: ReadonlyMap<Hex, Uint8Array>): JsonObject {
    const { disableCode, disableStorage } = this.#config;
    return {
      balance: toQuantity(balance),
      ...(!disableCode && code.length > 0 && { code: bytesToHex(code) }),
      ...(this.#dialect.hasCodeHash && code.length > 0 && { codeHash: bytesToHex(keccak256(code)) }),
      ...(nonce > 0n && { nonce: Number(nonce) }),
      ...(!disableStorage &&
        storage.size > 0 && { storage: Object.fromEntries([...storage].map(([slot, value]) => [slot, bytesToHex(value)])) }),
    };
  }
}

import { bytesToHex, CodedError, EMPTY_KECCAK, keccak256, padBytesLeft } from "@rnode/primitives";
import { type BlockRules, isSigned, type Transaction } from "@rnode/protocol";
import { collectChanges } from "./changes.ts";
import { forkNumber } from "./engine/forks.ts";
import type { EngineInstance } from "./engine/host.ts";
import {
  A_CODE_EPOCH,
  A_CODE_HASH,
  A_EXISTS,
  ENV_BASE_FEE,
  ENV_BLOB_BASE_FEE,
  ENV_CHAIN_ID,
  ENV_COINBASE,
  ENV_GAS_LIMIT,
  ENV_NUMBER,
  ENV_RANDAO,
  ENV_TIMESTAMP,
  TRACE_MESSAGES,
  TRACE_NOTHING,
  TRACE_STEPS,
  TRACE_TOUCHES,
} from "./engine/layout.ts";
import { StateAccess } from "./engine/state-access.ts";
import type { EvmErrorCode } from "./errors.ts";
import type {
  BlockEnvironment,
  BlockExecution,
  CallMessage,
  CallOutcome,
  TransactionContext,
  TransactionResult,
} from "./execution.ts";
import type { PrecompileSet } from "./precompiles/table.ts";
import type { StateChanges } from "./state-changes.ts";
import type { EvmTracer, TraceDetail } from "./tracer.ts";
import { callMessage, systemCall } from "./transaction/call.ts";
import { applyDeposit } from "./transaction/deposit.ts";
import { applyPostExec } from "./transaction/post-exec.ts";
import type { BlockScope } from "./transaction/scope.ts";
import { applySigned } from "./transaction/signed.ts";

/** The execution of one block on an engine instance. */
export class EngineBlock implements BlockExecution {
  readonly rules: BlockRules;
  readonly environment: BlockEnvironment;
  readonly #instance: EngineInstance;
  readonly #state: StateAccess;
  readonly #scope: BlockScope;
  #gasLeft: bigint;
  #hasEnded = false;

  constructor(instance: EngineInstance, rules: BlockRules, environment: BlockEnvironment, precompiles: PrecompileSet) {
    this.rules = rules;
    this.environment = environment;
    this.#instance = instance;
    this.#state = new StateAccess(instance);
    this.#scope = { rules, environment, state: this.#state, instance };
    this.#gasLeft = environment.gasLimit;
    instance.precompiles = precompiles.table;
    instance.newCodes.clear();
    instance.exports.beginBlock(forkNumber(rules.evm), precompiles.last, precompiles.hasP256 ? 1 : 0, traceOf(instance.tracer));
    this.#writeEnvironment();
  }

  get gasLeft(): bigint {
    return this.#gasLeft;
  }

  /** Called when another block begins on the engine. */
  end(): void {
    this.#hasEnded = true;
  }

  applyTransaction(transaction: Transaction, context: TransactionContext): TransactionResult {
    this.#assertCurrent();
    const scope = this.#scope;
    const result = isSigned(transaction)
      ? applySigned(scope, transaction, context, this.#gasLeft)
      : transaction.type === 0x7e
        ? applyDeposit(scope, transaction, this.#gasLeft)
        : applyPostExec(scope);
    if (result.kind === "rejected") return result;
    this.#gasLeft -= result.poolGas;
    return { kind: "included", outcome: result.outcome };
  }

  systemCall(to: Uint8Array, data: Uint8Array): CallOutcome | undefined {
    this.#assertCurrent();
    return systemCall(this.#scope, to, data);
  }

  call(message: CallMessage): CallOutcome {
    this.#assertCurrent();
    return callMessage(this.#scope, message);
  }

  applyMessage(message: CallMessage): CallOutcome {
    this.#assertCurrent();
    const outcome = callMessage(this.#scope, message, true);
    this.#gasLeft -= outcome.gasUsed;
    return outcome;
  }

  addBalance(address: Uint8Array, amount: bigint): void {
    this.#assertCurrent();
    if (amount === 0n) return;
    const account = this.#state.account(address);
    this.#state.overrideBalance(account, this.#state.balance(account) + amount);
  }

  setBalance(address: Uint8Array, balance: bigint): void {
    this.#assertCurrent();
    this.#state.overrideBalance(this.#state.account(address), balance);
  }

  setNonce(address: Uint8Array, nonce: bigint): void {
    this.#assertCurrent();
    this.#state.overrideNonce(this.#state.account(address), nonce);
  }

  setCode(address: Uint8Array, code: Uint8Array): void {
    this.#assertCurrent();
    const { memory, newCodes } = this.#instance;
    const account = this.#state.account(address);
    const codeHash = code.length === 0 ? EMPTY_KECCAK : keccak256(code);
    if (code.length > 0) newCodes.set(bytesToHex(codeHash), code.slice());
    memory.setU32(account + A_EXISTS, 1);
    memory.setU32(account + A_CODE_EPOCH, 0);
    memory.bytes.set(codeHash, account + A_CODE_HASH);
  }

  setStorage(address: Uint8Array, slot: Uint8Array, value: Uint8Array): void {
    this.#assertCurrent();
    this.#state.overrideStorage(this.#state.account(address), slot, value);
  }

  movePrecompile(from: Uint8Array, to: Uint8Array | undefined): boolean {
    this.#assertCurrent();
    const source = this.#state.account(from);
    const moved = this.#instance.exports.movePrecompile(source, to === undefined ? 0 : this.#state.account(to));
    if (moved === 2) throw new CodedError<EvmErrorCode>("evm/too-many-moved-precompiles");
    return moved === 1;
  }

  clearStorage(address: Uint8Array): void {
    this.#assertCurrent();
    this.#state.clearStorage(this.#state.account(address));
  }

  getBalance(address: Uint8Array): bigint {
    this.#assertCurrent();
    return this.#state.balance(this.#state.account(address));
  }

  getNonce(address: Uint8Array): bigint {
    this.#assertCurrent();
    return this.#state.nonce(this.#state.account(address));
  }

  getCode(address: Uint8Array): Uint8Array {
    this.#assertCurrent();
    return this.#state.code(this.#state.account(address));
  }

  getStorage(address: Uint8Array, slot: Uint8Array): Uint8Array {
    this.#assertCurrent();
    return this.#state.rawStorage(this.#state.account(address), slot);
  }

  changes(): StateChanges {
    this.#assertCurrent();
    return collectChanges(this.#instance);
  }

  #assertCurrent(): void {
    if (this.#hasEnded) throw new CodedError<EvmErrorCode>("evm/stale-block");
  }

  #writeEnvironment(): void {
    const { memory } = this.#instance;
    const { rules, environment } = this;
    memory.setRawWord(ENV_COINBASE, padBytesLeft(environment.beneficiary, 32));
    memory.setWord(ENV_NUMBER, environment.number);
    memory.setWord(ENV_TIMESTAMP, environment.timestamp);
    memory.setWord(ENV_GAS_LIMIT, environment.gasLimit);
    memory.setWord(ENV_CHAIN_ID, rules.chainId);
    memory.setWord(ENV_BASE_FEE, environment.baseFeePerGas);
    memory.setWord(ENV_BLOB_BASE_FEE, environment.blobBaseFee);
    if (rules.isPostMerge) memory.setRawWord(ENV_RANDAO, environment.prevRandao);
    else memory.setWord(ENV_RANDAO, environment.difficulty);
  }
}

function traceOf(tracer: EvmTracer | undefined): number {
  return tracer === undefined ? TRACE_NOTHING : TRACE_NUMBERS[tracer.detail ?? "steps"];
}

const TRACE_NUMBERS: Readonly<Record<TraceDetail, number>> = {
  messages: TRACE_MESSAGES,
  touches: TRACE_TOUCHES,
  steps: TRACE_STEPS,
};

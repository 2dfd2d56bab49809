import { type BlockSelector, blockEnvironment, newEngine } from "@rnode/chain";
import {
  type BlockExecution,
  type CallMessage,
  type CallOutcome,
  type EvmEngine,
  type EvmTracer,
  gasShortage,
  type HaltReason,
} from "@rnode/evm";
import { RpcError, type RpcErrorBody, rpcErrorOf } from "@rnode/jsonrpc";
import { bytesToHex, ZERO_ADDRESS } from "@rnode/primitives";
import { type AccessListEntry, hashTransaction, type SignedTransaction } from "@rnode/protocol";
import type { StateView } from "@rnode/storage";
import { type HeaderAt, type ReadBackend, requireState, rulesAt } from "../backend/backend.ts";
import type { Work } from "../backend/work.ts";
import { LATEST } from "../params/block-selector.ts";
import type { AccountOverride, BlockOverride, CallRequest } from "../params/call-request.ts";
import type { AskedCall, CallFault, Profile } from "../profile/profile.ts";
import { AccessListTracer } from "./access-list-tracer.ts";
import { blobCost, contentsFault, feeCapOf, feeFault, gasPriceOf } from "./call-validity.ts";
import { HeadBlock } from "./head-block.ts";
import { applyStateOverrides, overriddenEnvironment } from "./overrides.ts";
import { revertReason } from "./revert-reason.ts";
import { transactionOfCall } from "./simulated-call.ts";
import { interruptible, limitedCall } from "./time-limit.ts";

export interface CallLimits {
  /** the gas of a call that does not specify any, and the most that a call may use */
  readonly gasCap: bigint;
  /** the longest time that one request may execute; 0: no limit */
  readonly timeoutMs: number;
  /** limit for the decoded code that the engine for the head caches */
  readonly codeCacheBytes?: number | undefined;
}

export interface CallOverrides {
  readonly state?: readonly AccountOverride[] | undefined;
  readonly block?: BlockOverride | undefined;
}

/** How to run a call that is to be observed, not just answered. */
export interface CallWatch {
  readonly tracer?: EvmTracer | undefined;
  /** default: the EVM of the calls that are not plain calls on `latest`. Control must not be yielded between `prepare` and the last message. */
  readonly engine?: EvmEngine | undefined;
  readonly rules?: MessageRules | undefined;
}

/** The rules that differ for the message of a gas estimate. */
export interface MessageRules {
  /** the gas is a first estimate: it may be too low, and it is lowered to what the sender can pay for */
  readonly isEstimate: boolean;
}

const CALL: MessageRules = { isEstimate: false };
const ESTIMATE: MessageRules = { isEstimate: true };

/** A call ready to run on the state after a block, with its environment. */
export interface PreparedCall {
  readonly execution: BlockExecution;
  readonly message: CallMessage;
  readonly at: HeaderAt & { readonly state: StateView };
}

export interface AccessListResult {
  readonly accessList: readonly AccessListEntry[];
  readonly gasUsed: bigint;
  /** why the call failed; the list then holds the entries touched up to the failure */
  readonly halt: HaltReason | undefined;
  /** set if `halt` is invalid-opcode */
  readonly invalidOpcode: number | undefined;
  readonly output: Uint8Array;
}

/** Lists only grow between runs, so comparing sizes shows whether anything was added. */
const sizeOf = (list: readonly AccessListEntry[]): number =>
  list.reduce((size, { storageKeys }) => size + 1 + storageKeys.length, 0);

const ESTIMATE_ERROR_RATIO = 0.015;
const PLAIN_TRANSFER_GAS = 21_000n;
const CALL_STIPEND = 2300n;
const REVERT_CODE = 3;

/** A call that cannot start. The message is generic, for methods without their own wording. */
class CallRefusal extends RpcError {
  readonly fault: CallFault;

  constructor(fault: CallFault, { code, message, data }: RpcErrorBody) {
    super(code, message, data);
    this.fault = fault;
  }
}

/**
 * Runs calls that leave the chain's state unchanged. Each of its two EVMs runs one call at a time: one holds the head block and
 * serves plain calls on `latest`, the other starts a new block for every other call.
 */
export class CallService {
  readonly #backend: ReadBackend;
  readonly #engine: EvmEngine;
  readonly #limits: CallLimits;
  readonly #headEngine: EvmEngine;
  readonly #head: HeadBlock;

  constructor(backend: ReadBackend, engine: EvmEngine, limits: CallLimits) {
    this.#backend = backend;
    this.#engine = engine;
    this.#limits = limits;
    this.#headEngine = newEngine({ codeCacheBytes: limits.codeCacheBytes });
    this.#head = new HeadBlock(backend, this.#headEngine, limits.gasCap);
  }

  /** linear memory of the engines, bytes */
  get engineBytes(): number {
    return this.#engine.memoryBytes + this.#headEngine.memoryBytes;
  }

  /** `eth_call`: returns the output. @throws {RpcError} */
  call(work: Work, request: CallRequest, selector: BlockSelector, overrides: CallOverrides = {}): Uint8Array {
    const isPlain = overrides.state === undefined && overrides.block === undefined && offersNoFee(request);
    if (isPlain && selector.kind === "tag" && selector.tag === "latest") return this.#callHead(work, request, selector);
    const { message, outcome } = this.#limited(work, () => {
      checkOverrides(work, overrides);
      const { execution, message } = this.#worded("call", request, () => this.prepare(request, selector, overrides));
      return { message, outcome: execution.call(message) };
    });
    if (outcome.status === 0) throw this.#failure(outcome, message.gasLimit);
    return outcome.output;
  }

  #callHead(work: Work, request: CallRequest, selector: BlockSelector): Uint8Array {
    const execution = this.#head.execution(requireState(this.#backend, selector));
    const message = this.#worded("call", request, () => this.message(execution, request));
    let outcome: CallOutcome;
    try {
      outcome = interruptible(this.#headEngine, this.limited(work), () => execution.call(message));
    } catch (error) {
      this.#head.drop();
      throw error;
    }
    if (outcome.status === 0) throw this.#failure(outcome, message.gasLimit);
    return outcome.output;
  }

  /**
   * `eth_estimateGas`: the lowest gas limit (within 1.5 %) with which the call succeeds, searched for as Geth does. It is at most what
   * one transaction of the block may have, and at most `--rpc.gascap`.
   *
   * @throws {RpcError}
   */
  estimateGas(work: Work, request: CallRequest, selector: BlockSelector, overrides: CallOverrides = {}): bigint {
    return this.#limited(work, (limited) => this.#estimateGas(limited, request, selector, overrides));
  }

  #estimateGas(work: Work, request: CallRequest, selector: BlockSelector, overrides: CallOverrides): bigint {
    const header = this.#backend.chain.headerOf(selector)?.header;
    const { honorsLittleGas } = this.#backend.profile.calls;
    const limit =
      request.gas !== undefined && (honorsLittleGas || request.gas >= PLAIN_TRANSFER_GAS) ? request.gas : header?.gasLimit;
    const wanted = limit ?? this.#limits.gasCap;
    const cap = header && rulesAt(this.#backend, header).maxTransactionGas; // EIP-7825: no block includes a transaction with more
    const asked = { ...request, gas: cap !== undefined && wanted > cap ? cap : wanted };
    checkOverrides(work, overrides);
    const { execution, message } = this.#worded("estimate", asked, () =>
      this.prepare(asked, selector, overrides, { rules: ESTIMATE }),
    );
    const run = (gasLimit: bigint): CallOutcome => {
      work.check();
      return execution.call({ ...message, gasLimit });
    };

    let high = message.gasLimit;
    const isPlainTransfer = message.to !== undefined && message.data.length === 0 && execution.getCode(message.to).length === 0;
    if (isPlainTransfer && run(PLAIN_TRANSFER_GAS).status === 1) return PLAIN_TRANSFER_GAS;
    this.#worded("estimate", { ...asked, gas: high }, () => this.#checkGas(execution, message));
    const first = run(high);
    if (first.status === 0) {
      if (first.halt === "out-of-gas") throw this.#refuse({ kind: "gas-exceeds-allowance", allowance: high });
      throw this.#failure(first, high);
    }
    let low = first.gasUsed - 1n;
    // The gas that was used, plus the 1/64 that each call holds back and one stipend, is usually enough.
    const optimistic = ((first.gasUsed + CALL_STIPEND) * 64n) / 63n;
    if (optimistic < high) {
      if (run(optimistic).status === 0) low = optimistic;
      else high = optimistic;
    }
    while (low + 1n < high) {
      if (Number(high - low) / Number(high) < ESTIMATE_ERROR_RATIO) break;
      let middle = (high + low) / 2n;
      if (middle > low * 2n) middle = low * 2n; // most calls need little more than they use
      if (run(middle).status === 0) low = middle;
      else high = middle;
    }
    return high;
  }

  /**
   * `eth_createAccessList`: the addresses and slots that the call touches. A listed slot changes the call's gas, and possibly the
   * touched slots, so the call is repeated until nothing new appears.
   *
   * @throws {RpcError}
   */
  createAccessList(work: Work, request: CallRequest, selector: BlockSelector, overrides: CallOverrides = {}): AccessListResult {
    return this.#limited(work, (limited) => this.#createAccessList(limited, request, selector, overrides));
  }

  #createAccessList(work: Work, request: CallRequest, selector: BlockSelector, overrides: CallOverrides): AccessListResult {
    checkOverrides(work, overrides);
    let gasOfFirst: bigint | undefined;
    for (let accessList = request.accessList ?? []; ; ) {
      const from = request.from ?? ZERO_ADDRESS;
      const excluded = request.to === undefined ? [from] : [from, request.to];
      const tracer = new AccessListTracer(work, accessList, excluded);
      const asked = { ...request, accessList };
      const { execution, message } = this.#worded("access-list", asked, () => this.prepare(asked, selector, overrides, { tracer }));
      const { gasUsed, halt, invalidOpcode, status, output } = execution.call(message);
      gasOfFirst ??= gasUsed;
      const touched = tracer.list();
      if (sizeOf(touched) === sizeOf(accessList))
        return {
          accessList: touched,
          gasUsed: this.#backend.profile.calls.accessListGasIsWithout ? gasOfFirst : gasUsed,
          halt: status === 0 ? halt : undefined,
          invalidOpcode,
          output,
        };
      accessList = touched;
    }
  }

  /** @throws {RpcError} unknown block, missing state, unacceptable fees or insufficient funds */
  prepare(
    request: CallRequest,
    selector: BlockSelector,
    overrides: CallOverrides = {},
    { tracer, engine = this.#engine, rules: messageRules }: CallWatch = {},
  ): PreparedCall {
    const at = requireState(this.#backend, selector);
    const rules = rulesAt(this.#backend, at.header);
    const environment = overriddenEnvironment(blockEnvironment(rules, at.header), overrides.block);
    // A call without a fee sees a base fee of zero.
    const { profile } = this.#backend;
    const isFree = gasPriceOf(profile, request, environment.baseFeePerGas) === 0n;
    const isBlobFree = profile.calls.ignoresZeroBlobFee && request.blobVersionedHashes !== undefined && !request.maxFeePerBlobGas;
    const seen = { ...environment, ...(isFree && { baseFeePerGas: 0n }), ...(isBlobFree && { blobBaseFee: 0n }) };
    engine.setTracer(tracer);
    const execution = engine.beginBlock(rules, { ...seen, gasLimit: maximum(seen.gasLimit, this.#limits.gasCap) }, at.state);
    applyStateOverrides(execution, overrides.state ?? []);
    return { execution, message: this.message(execution, request, messageRules), at };
  }

  /** The message for a call on a block in progress. @throws {RpcError} wrong chain, an invalid transaction, or insufficient funds */
  message(execution: BlockExecution, request: CallRequest, { isEstimate }: MessageRules = CALL): CallMessage {
    const { profile, chain } = this.#backend;
    const { chainId } = chain.config;
    if (request.chainId !== undefined && request.chainId !== chainId)
      throw this.#refuse({ kind: "wrong-chain-id", have: request.chainId, want: chainId });
    const { rules, environment } = execution;
    const surroundings = { rules, ...environment };
    const faultOfFees = feeFault(profile, request, surroundings);
    if (faultOfFees !== undefined) throw this.#refuse(faultOfFees);
    const faultOfContents = contentsFault(profile, request, surroundings);
    if (faultOfContents !== undefined) throw this.#refuse(faultOfContents);
    const from = request.from ?? ZERO_ADDRESS;
    if (isEstimate && request.from === undefined) this.#fund(execution, request, from);
    const gasLimit = this.#gasLimit(execution, request, from, isEstimate);
    const gasPrice = gasPriceOf(profile, request, environment.baseFeePerGas);
    const { to, value, data, accessList, authorizationList, blobVersionedHashes } = request;
    const message = { from, to, gasLimit, value, data, gasPrice, accessList, authorizationList, blobVersionedHashes };
    if (!isEstimate) this.#checkGas(execution, message);
    return message;
  }

  /** An estimate without a sender has no real sender, so the balance does not matter. */
  #fund(execution: BlockExecution, request: CallRequest, from: Uint8Array): void {
    const highest = feeCapOf(this.#backend.profile, request, execution.environment.baseFeePerGas);
    const needed = request.value + blobCost(request) + this.#wantedGas(request) * highest;
    if (needed < 1n << 256n && execution.getBalance(from) < needed) execution.setBalance(from, needed);
  }

  #checkGas({ rules }: BlockExecution, message: CallMessage): void {
    const shortage = gasShortage(rules, message);
    if (shortage !== undefined) throw this.#refuse({ kind: "intrinsic-gas", gasLimit: message.gasLimit, ...shortage });
  }

  /**
   * The least of three limits: the gas of the request, the cap, and, for an estimate or if the profile says so, the gas that the
   * sender can pay for at the maximum price of the request.
   */
  #gasLimit(execution: BlockExecution, request: CallRequest, from: Uint8Array, isEstimate: boolean): bigint {
    const { profile } = this.#backend;
    const highest = feeCapOf(profile, request, execution.environment.baseFeePerGas);
    const wanted = this.#wantedGas(request);
    const balance = execution.getBalance(from);
    const fixed = request.value + blobCost(request);
    const insufficient = (affordableGas?: bigint): RpcError =>
      this.#refuse({
        kind: "insufficient-funds",
        address: bytesToHex(from),
        haveWei: balance,
        valueWei: fixed,
        gasWei: wanted * highest,
        affordableGas,
      });
    if (balance < fixed) throw insufficient();
    if (highest === 0n) return wanted;
    const affordable = (balance - fixed) / highest;
    if (affordable >= wanted) return wanted;
    const isCapped = isEstimate || profile.calls.capsGasByFunds;
    if (!isCapped || affordable < PLAIN_TRANSFER_GAS) throw insufficient(affordable);
    return affordable;
  }

  #wantedGas({ gas }: CallRequest): bigint {
    const { gasCap } = this.#limits;
    return gas === undefined || gas > gasCap ? gasCap : gas;
  }

  /** Runs `run`; if it refuses the call, the error is worded as this method words it. */
  #worded<T>(method: AskedCall["method"], request: CallRequest, run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (!(error instanceof CallRefusal)) throw error;
      const gas = this.#wantedGas(request);
      const transactionHash =
        method === "access-list" ? () => bytesToHex(hashTransaction(this.#transactionOf(request, gas))) : undefined;
      throw rpcErrorOf(this.#backend.profile.errors.call(error.fault, { method, gas, transactionHash }));
    }
  }

  /** The transaction that a call stands for, unsigned. */
  #transactionOf(request: CallRequest, gas: bigint): SignedTransaction {
    const nonce = requireState(this.#backend, LATEST).state.readAccount(request.from ?? ZERO_ADDRESS)?.nonce ?? 0n;
    return transactionOfCall(request, this.#backend.chain.config.chainId, nonce, gas).tx;
  }

  /** The same work with the time limit of calls. */
  limited(work: Work): Work {
    return limitedCall(work, this.#limits.timeoutMs, this.#backend.profile);
  }

  #limited<T>(work: Work, run: (limited: Work) => T): T {
    const limited = this.limited(work);
    return interruptible(this.#engine, limited, () => run(limited));
  }

  #refuse(fault: CallFault): RpcError {
    return new CallRefusal(fault, this.#backend.profile.errors.call(fault));
  }

  #failure(outcome: CallOutcome, gasLimit: bigint): RpcError {
    const { halt, invalidOpcode } = outcome;
    if (halt === undefined || halt === "revert") return revertError(this.#backend.profile, outcome.output);
    return this.#refuse({ kind: "halt", halt, invalidOpcode, gasLimit });
  }
}

/** Code of overrides that is larger takes long to hash, in one step. */
const LARGE_CODE_BYTES = 64 * 1024;

function checkOverrides(work: Work, { state = [] }: CallOverrides): void {
  const bytes = state.reduce((sum, { code }) => sum + (code?.length ?? 0), 0);
  if (bytes > LARGE_CODE_BYTES) work.check(BigInt(bytes));
}

const offersNoFee = ({ gasPrice, maxFeePerGas, maxPriorityFeePerGas, blobVersionedHashes }: CallRequest): boolean =>
  gasPrice === undefined && maxFeePerGas === undefined && maxPriorityFeePerGas === undefined && blobVersionedHashes === undefined;

/** Error code 3, with the reason if there is one, and the revert data; without data, the profile decides whether it is `0x` or absent. */
export function revertError({ calls }: Profile, output: Uint8Array): RpcError {
  const reason = revertReason(output);
  return new RpcError(
    REVERT_CODE,
    reason === undefined ? "execution reverted" : `execution reverted: ${reason}`,
    output.length > 0 || calls.revertsHaveEmptyData ? bytesToHex(output) : undefined,
  );
}

const maximum = (a: bigint, b: bigint): bigint => (a > b ? a : b);

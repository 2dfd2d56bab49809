import type { L1FeeMarket, L1Inclusion } from "@rnode/l1";
import type { Logger } from "@rnode/observe";
import { errorText } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import type { Signer } from "@rnode/signer";
import type { L1Access } from "./l1-access.ts";
import { allowsFees, carriesBlobs, maxCostWei, rawTransaction, type TxCandidate, unsignedTransaction } from "./tx-candidate.ts";
import { exceedsFeeLimit, type FeePolicy, replacementFees, suggestedFees, type TxFees } from "./tx-fees.ts";

export interface TransactionManagerOptions extends FeePolicy {
  /** a transaction counts as included once this many blocks, including its own, contain it */
  readonly confirmations: number;
  readonly resubmissionTimeoutMs: number;
  readonly receiptQueryIntervalMs: number;
  /** 0: none */
  readonly sendTimeoutMs: number;
  readonly notInMempoolTimeoutMs: number;
  /** this many consecutive signs that the nonce was used by someone else, or can never be reached, end the attempt */
  readonly safeAbortNonceTooLowCount: number;
}

/** The outcome of a transaction. */
export type SendOutcome =
  | { readonly kind: "confirmed"; readonly inclusion: L1Inclusion; readonly hash: Hex; readonly feeCapWei: bigint }
  /**
   * It was given up, and its nonce is free. The next transaction takes the nonce and thereby replaces this one, if this one is
   * still in a pool somewhere (`isPublished`) and not included by then.
   */
  | { readonly kind: "failed"; readonly reason: "send-timeout" | "not-in-mempool" | "nonce-gap"; readonly isPublished: boolean }
  /** another transaction used the nonce: one of a previous process, or of somebody else with the key */
  | { readonly kind: "nonce-consumed"; readonly nonce: bigint }
  /** it was asked to stop; the transaction may still be included */
  | { readonly kind: "cancelled" };

export interface TransactionEvents {
  published?(tx: { readonly hash: Hex; readonly nonce: bigint; readonly fees: TxFees; readonly attempt: number }): void;
  refused?(reason: string): void;
}

export interface TransactionManagerDeps {
  readonly l1ChainId: bigint;
  readonly l1: L1Access;
  readonly signer: Signer;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events?: TransactionEvents;
}

interface Version {
  readonly hash: Hex;
  readonly fees: TxFees;
  readonly raw: Uint8Array;
}

/** How long to wait after a refusal or an error of the endpoint. */
const RETRY_MS = 2000;
/** A refusal for insufficient funds is not logged again within this time. */
const FUNDS_LOG_INTERVAL_MS = 60_000;

/** Sends transactions from one account: nonces, fees, replacements, confirmations. Several may be pending at once. */
export class TransactionManager {
  readonly address: Uint8Array;
  readonly #options: TransactionManagerOptions;
  readonly #deps: TransactionManagerDeps;
  /** nonces of pending transactions */
  readonly #taken = new Set<bigint>();
  /** by nonce, the fees of transactions that were given up but may still be in the pool: a new one must pay more */
  readonly #abandonedFees = new Map<bigint, TxFees>();
  #nonceLock: Promise<unknown> = Promise.resolve();
  #lastFundsLogMs = Number.NEGATIVE_INFINITY;

  constructor(options: TransactionManagerOptions, deps: TransactionManagerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.address = deps.signer.address;
  }

  /** Sends a transaction and resolves once its outcome is known. Never rejects: failures of an endpoint or the signer are retried. */
  async send(candidate: TxCandidate, signal: AbortSignal): Promise<SendOutcome> {
    const nonce = await this.#takeNonce(signal);
    if (nonce === undefined) return { kind: "cancelled" };
    try {
      const account: Account = { address: this.address, isTaken: (other) => this.#taken.has(other) };
      const outcome = await new Sending(nonce, candidate, account, this.#options, this.#deps, this.#abandonedFees.get(nonce)).run(
        signal,
        (text, fields) => this.#logFunds(text, fields),
      );
      if (outcome.lastFees !== undefined && outcome.result.kind === "failed") this.#abandonedFees.set(nonce, outcome.lastFees);
      else this.#abandonedFees.delete(nonce);
      return outcome.result;
    } finally {
      this.#taken.delete(nonce);
    }
  }

  /** The lowest nonce that neither the chain nor a pending transaction uses. Taken one at a time, to keep the order of the calls. */
  async #takeNonce(signal: AbortSignal): Promise<bigint | undefined> {
    const take = async (): Promise<bigint | undefined> => {
      while (!signal.aborted) {
        try {
          let nonce = await this.#deps.l1.nonce(this.address, "latest");
          while (this.#taken.has(nonce)) nonce++;
          this.#taken.add(nonce);
          return nonce;
        } catch (error) {
          this.#deps.log.warn("cannot read the nonce from L1", { error: errorText(error) });
          await this.#deps.clock.sleep(RETRY_MS, signal);
        }
      }
      return undefined;
    };
    const turn = this.#nonceLock.then(take, take);
    this.#nonceLock = turn;
    return turn;
  }

  #logFunds(text: string, fields: Record<string, string | bigint>): void {
    const now = this.#deps.clock.nowMs();
    if (now - this.#lastFundsLogMs < FUNDS_LOG_INTERVAL_MS) return;
    this.#lastFundsLogMs = now;
    this.#deps.log.error(text, fields);
  }
}

interface Account {
  readonly address: Uint8Array;
  /** whether a pending transaction has this nonce */
  readonly isTaken: (nonce: bigint) => boolean;
}

type LogFunds = (text: string, fields: Record<string, string | bigint>) => void;

/** One nonce, with all the versions of the transaction that were published. */
class Sending {
  readonly #nonce: bigint;
  readonly #candidate: TxCandidate;
  readonly #account: Account;
  readonly #options: TransactionManagerOptions;
  readonly #deps: TransactionManagerDeps;
  readonly #versions: Version[] = [];
  /** the fees that the next version must exceed */
  #lastFees: TxFees | undefined;
  #attempts = 0;
  #nonceUsedCount = 0;
  #nonceGapCount = 0;
  #wasIncluded = false;

  constructor(
    nonce: bigint,
    candidate: TxCandidate,
    account: Account,
    options: TransactionManagerOptions,
    deps: TransactionManagerDeps,
    previousFees: TxFees | undefined,
  ) {
    this.#nonce = nonce;
    this.#candidate = candidate;
    this.#account = account;
    this.#options = options;
    this.#deps = deps;
    this.#lastFees = previousFees;
  }

  async run(signal: AbortSignal, logFunds: LogFunds): Promise<{ result: SendOutcome; lastFees: TxFees | undefined }> {
    const { clock, log } = this.#deps;
    const { sendTimeoutMs, notInMempoolTimeoutMs, receiptQueryIntervalMs, safeAbortNonceTooLowCount } = this.#options;
    const startMs = clock.nowMs();
    let publishAtMs = startMs;
    const finish = (result: SendOutcome) => ({ result, lastFees: this.#lastFees });
    for (;;) {
      if (signal.aborted) return finish({ kind: "cancelled" });
      try {
        if (clock.nowMs() >= publishAtMs) publishAtMs = clock.nowMs() + (await this.#publish(logFunds));
        const included = await this.#findInclusion();
        if (included !== undefined) {
          if (included.isDeep) {
            const { hash, fees, inclusion } = included;
            return finish({ kind: "confirmed", inclusion, hash, feeCapWei: fees.feeCap });
          }
          publishAtMs = Math.max(publishAtMs, clock.nowMs() + this.#options.resubmissionTimeoutMs); // nothing to replace
        } else if (this.#nonceUsedCount >= safeAbortNonceTooLowCount) {
          return finish({ kind: "nonce-consumed", nonce: this.#nonce });
        } else if (this.#nonceGapCount >= safeAbortNonceTooLowCount) {
          return finish({ kind: "failed", reason: "nonce-gap", isPublished: true });
        }
        const ageMs = clock.nowMs() - startMs;
        if (included === undefined) {
          const isPublished = this.#versions.length > 0;
          if (sendTimeoutMs > 0 && ageMs >= sendTimeoutMs) return finish({ kind: "failed", reason: "send-timeout", isPublished });
          if (!isPublished && ageMs >= notInMempoolTimeoutMs)
            return finish({ kind: "failed", reason: "not-in-mempool", isPublished });
        }
      } catch (error) {
        log.warn("a transaction cannot be sent for now", { nonce: this.#nonce, error: errorText(error) });
        publishAtMs = Math.max(publishAtMs, clock.nowMs() + RETRY_MS);
      }
      const untilPublishMs = Math.max(0, publishAtMs - clock.nowMs());
      await clock.sleep(Math.min(receiptQueryIntervalMs, untilPublishMs), signal);
    }
  }

  /** Publishes the first version or one with higher fees. @returns the milliseconds until the next attempt */
  async #publish(logFunds: LogFunds): Promise<number> {
    const { l1, signer, log, events } = this.#deps;
    const market = await l1.feeMarket({ withBlobs: carriesBlobs(this.#candidate) });
    const fees = this.#nextFees(market);
    if (fees === undefined) return this.#options.resubmissionTimeoutMs;
    const tx = unsignedTransaction(this.#candidate, this.#deps.l1ChainId, this.#nonce, fees);
    const signed = await signer.signTransaction(tx);
    const hash = bytesToHex(keccak256(signed));
    // Recorded before it is sent: a lost answer does not mean that the transaction was not accepted.
    const isNew = this.#versions.every((version) => version.hash !== hash);
    const raw = rawTransaction(this.#candidate, signed);
    if (isNew) this.#versions.push({ hash, fees, raw });
    const { verdict, message } = await l1.send(raw);
    if (verdict !== "accepted") {
      if (isNew) this.#versions.pop();
      events?.refused?.(verdict);
    }
    switch (verdict) {
      case "accepted":
        this.#lastFees = fees;
        this.#nonceUsedCount = 0;
        this.#attempts++;
        events?.published?.({ hash, nonce: this.#nonce, fees, attempt: this.#attempts });
        return this.#options.resubmissionTimeoutMs;
      case "underpriced":
        this.#lastFees = fees;
        log.debug("L1 wants a higher fee", { nonce: this.#nonce, feeCapWei: fees.feeCap, message });
        return 0;
      case "nonce-too-low":
        this.#nonceUsedCount++;
        log.debug("L1 says that the nonce is used", { nonce: this.#nonce, message });
        return Math.min(RETRY_MS, this.#options.receiptQueryIntervalMs);
      case "insufficient-funds": {
        const balanceWei = await l1.balance(this.#account.address);
        logFunds("the batcher's account cannot pay for its transaction", {
          address: bytesToHex(this.#account.address),
          balanceWei,
          neededWei: maxCostWei(tx),
          message,
        });
        return RETRY_MS;
      }
      case "refused":
        log.warn("L1 refuses a transaction", { nonce: this.#nonce, message });
        return RETRY_MS;
    }
  }

  #nextFees(market: L1FeeMarket): TxFees | undefined {
    const previous = this.#lastFees;
    const hasBlobs = carriesBlobs(this.#candidate);
    const fees =
      previous === undefined
        ? suggestedFees(market, this.#options, hasBlobs)
        : replacementFees(previous, market, this.#options, hasBlobs);
    if (previous !== undefined && exceedsFeeLimit(fees, market, this.#options)) {
      this.#logFeeLimit(fees, "the fee limit forbids a better paid version of a transaction");
      return undefined;
    }
    if (allowsFees(this.#candidate, fees)) return fees;
    this.#logFeeLimit(fees, "L1 asks more than a transaction may offer");
    return undefined;
  }

  #logFeeLimit(fees: TxFees, text: string): void {
    this.#deps.log.warn(text, {
      nonce: this.#nonce,
      feeCapWei: fees.feeCap,
      ...(fees.blobFeeCap === undefined ? {} : { blobFeeCapWei: fees.blobFeeCap }),
      multiplier: this.#options.feeLimitMultiplier,
    });
  }

  async #findInclusion(): Promise<{ hash: Hex; fees: TxFees; inclusion: L1Inclusion; isDeep: boolean } | undefined> {
    const { l1 } = this.#deps;
    if (this.#versions.length === 0) return undefined;
    const inclusions = await Promise.all(this.#versions.map(({ hash }) => l1.inclusion(hash)));
    const at = inclusions.findIndex((inclusion) => inclusion !== undefined);
    if (at < 0) {
      await this.#followNonce();
      return undefined;
    }
    this.#nonceUsedCount = 0;
    this.#nonceGapCount = 0;
    this.#wasIncluded = true;
    const inclusion = inclusions[at]!;
    const head = await l1.head();
    const isDeep = inclusion.blockNumber + this.#options.confirmations <= head.number + 1;
    return { ...this.#versions[at]!, inclusion, isDeep };
  }

  /** Looks for reasons why a transaction can never be included: its nonce was used, or an earlier one will stay unused. */
  async #followNonce(): Promise<void> {
    const { l1, log } = this.#deps;
    const { address, isTaken } = this.#account;
    const [latest, pending] = await Promise.all([l1.nonce(address, "latest"), l1.nonce(address, "pending")]);
    if (latest > this.#nonce) this.#nonceUsedCount++;
    // An L1 reorganisation has lost transactions that were included before this one.
    this.#nonceGapCount = pending < this.#nonce && !isTaken(pending) ? this.#nonceGapCount + 1 : 0;
    if (!this.#wasIncluded) return;
    this.#wasIncluded = false;
    log.info("L1 has reorganised a transaction away: publishing it again", { nonce: this.#nonce });
    await l1.send(this.#versions.at(-1)!.raw);
  }
}

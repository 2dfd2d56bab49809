import { isNewerL1, type L1FeeMarket, type L1Inclusion } from "@rnode/l1";
import { errorText, type Feed, type Logger } from "@rnode/observe";
import { bytesToHex, type Clock, type Ether, etherOf, gweiOf, type Hex, keccak256 } from "@rnode/primitives";
import type { BlobSidecar } from "@rnode/protocol";
import type { Signer } from "@rnode/signer";
import type { SendOutcome, TransactionManagerOptions, TxFees } from "./api.ts";
import type { BlobProver } from "./blob-prover.ts";
import type { L1Access } from "./l1-access.ts";
import type { SidecarVersion } from "./sidecar-version.ts";
import { allowsFees, carriesBlobs, maxCostWei, rawTransaction, type TxCandidate, unsignedTransaction } from "./tx-candidate.ts";
import { exceedsFeeLimit, priceAboveLimit, replacementFees, suggestedFees } from "./tx-fees.ts";
import { TxManagerError } from "./tx-manager-error.ts";
import type { TxMetrics } from "./tx-metrics.ts";

/** How long to wait after a refusal or an error of the endpoint. */
export const RETRY_MS = 2000;

/** Minimum interval of the same log line. */
const REPEAT_FAILURE_MS = 10_000;

/** The account that sends. */
export interface Account {
  readonly address: Uint8Array;
  /** whether a pending transaction has this nonce */
  readonly isTaken: (nonce: bigint) => boolean;
  /** whether no other transaction of ours is pending */
  readonly isAlone: () => boolean;
  /** logs that the account cannot pay, but not every time */
  readonly logFunds: (text: string, fields: Record<string, string | bigint>) => void;
}

export interface SendingTask {
  readonly nonce: bigint;
  readonly candidate: TxCandidate;
  readonly account: Account;
  /** of a transaction with this nonce that may still be in the pool */
  readonly previousFees: TxFees | undefined;
}

export interface SendingDeps {
  readonly l1ChainId: bigint;
  readonly l1: L1Access;
  readonly signer: Signer;
  readonly prover?: BlobProver | undefined;
  readonly sidecarVersion: SidecarVersion;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: TxMetrics;
  /** is shown each transaction, as an entry `l1tx` by nonce */
  readonly feed?: Pick<Feed, "put"> | undefined;
}

/** A transaction on the dashboard. */
export interface ShownTransaction {
  readonly atMs: number;
  readonly stage: "published" | "confirmed" | "reverted" | Exclude<SendOutcome["kind"], "confirmed">;
  readonly form: "calldata" | "blobs";
  /** of calldata; of blobs, all that they hold */
  readonly bytes: number;
  readonly hash?: Hex | undefined;
  readonly l1Block?: number | undefined;
  readonly costEther?: Ether | undefined;
}

type SendingResult = SendOutcome | { readonly kind: "blocked" };

interface Version {
  readonly hash: Hex;
  readonly fees: TxFees;
  readonly raw: Uint8Array;
}

/** One nonce, with all the versions of the transaction that were published. */
export class Sending {
  readonly #task: SendingTask;
  readonly #options: TransactionManagerOptions;
  readonly #deps: SendingDeps;
  readonly #versions: Version[] = [];
  #sidecar: BlobSidecar | undefined;
  #estimatedGas: bigint | undefined;
  /** L1 required more gas than the known rules */
  #wantsEstimate = false;
  /** the fees that the next version must exceed */
  #lastFees: TxFees | undefined;
  /** number of the L1 head when the last version was published: it can be in a later block at the earliest */
  #publishedAt: number | undefined;
  #attempts = 0;
  /** the last logged failure */
  #failure: { readonly error: string; readonly saidMs: number } | undefined;
  #nonceUsedCount = 0;
  #nonceGapCount = 0;
  #isBlocked = false;
  /** the pool holds a transaction of another program with this nonce, or of an earlier process, which L1 may include */
  #isOutbid = false;
  #wasIncluded = false;
  #shown: Partial<ShownTransaction> = {};

  constructor(task: SendingTask, options: TransactionManagerOptions, deps: SendingDeps) {
    this.#task = task;
    this.#options = options;
    this.#deps = deps;
    this.#lastFees = task.previousFees;
  }

  async run(signal: AbortSignal): Promise<{ result: SendingResult; lastFees: TxFees | undefined }> {
    const { clock, metrics } = this.#deps;
    const { nonce } = this.#task;
    const startMs = clock.monotonicMs();
    let publishAtMs = startMs;
    const finish = (result: SendingResult) => {
      if (result.kind !== "confirmed" && result.kind !== "blocked") this.#show({ stage: result.kind });
      return { result, lastFees: this.#lastFees };
    };
    for (;;) {
      if (signal.aborted) return finish({ kind: "cancelled" });
      try {
        if (clock.monotonicMs() >= publishAtMs) publishAtMs = clock.monotonicMs() + (await this.#publish());
        if (this.#isBlocked && this.#versions.length === 0) return finish({ kind: "blocked" });
        const included = await this.#findInclusion();
        if (included?.isDeep === true) {
          this.#recordConfirmed(included.inclusion, startMs);
          const { hash, fees, inclusion } = included;
          return finish({ kind: "confirmed", inclusion, hash, nonce, feeCapWei: fees.feeCap });
        }
        if (included !== undefined) {
          publishAtMs = Math.max(publishAtMs, clock.monotonicMs() + this.#options.resubmissionTimeoutMs); // nothing to replace
        } else {
          const end = this.#end(clock.monotonicMs() - startMs);
          if (end !== undefined) return finish(end);
        }
      } catch (error) {
        metrics.rpcErrors.inc();
        this.#sayFailure(errorText(error), isNewerL1(error) ? "debug" : "warn");
        publishAtMs = Math.max(publishAtMs, clock.monotonicMs() + RETRY_MS);
      }
      const untilPublishMs = Math.max(0, publishAtMs - clock.monotonicMs());
      await clock.sleep(Math.min(this.#options.receiptQueryIntervalMs, untilPublishMs), signal);
    }
  }

  #sayFailure(error: string, level: "debug" | "warn" = "warn"): void {
    const { clock, log } = this.#deps;
    const nowMs = clock.monotonicMs();
    if (this.#failure?.error === error && nowMs - this.#failure.saidMs < REPEAT_FAILURE_MS) return;
    this.#failure = { error, saidMs: nowMs };
    log[level]("a transaction cannot be sent for now", { nonce: this.#task.nonce, error });
  }

  /** Whether a transaction that is not included is abandoned now. */
  #end(ageMs: number): SendOutcome | undefined {
    const { sendTimeoutMs, notInMempoolTimeoutMs, safeAbortNonceTooLowCount } = this.#options;
    const isPublished = this.#versions.length > 0;
    if (this.#nonceUsedCount >= safeAbortNonceTooLowCount) return { kind: "nonce-consumed", nonce: this.#task.nonce };
    if (this.#nonceGapCount >= safeAbortNonceTooLowCount) return { kind: "failed", reason: "nonce-gap", isPublished: true };
    if (sendTimeoutMs > 0 && ageMs >= sendTimeoutMs) return { kind: "failed", reason: "send-timeout", isPublished };
    if (!isPublished && ageMs >= notInMempoolTimeoutMs) return { kind: "failed", reason: "not-in-mempool", isPublished };
    return undefined;
  }

  /** Publishes the first version or one with higher fees. @returns the milliseconds until the next attempt */
  async #publish(): Promise<number> {
    const { l1, signer, metrics, l1ChainId } = this.#deps;
    const { nonce, candidate } = this.#task;
    const head = await l1.head();
    // Without a new block nothing was passed over, and nothing is gained by paying more.
    if (this.#publishedAt !== undefined && head.number <= this.#publishedAt) return this.#options.receiptQueryIntervalMs;
    const market = await l1.feeMarket({ withBlobs: carriesBlobs(candidate) });
    metrics.baseFee.set(Number(market.baseFee));
    metrics.tipCap.set(Number(market.tip));
    if (market.blobBaseFee !== undefined) metrics.blobBaseFee.set(Number(market.blobBaseFee));
    const tooDear = priceAboveLimit(market, this.#options);
    if (tooDear !== undefined) {
      this.#sayFailure(`L1 asks more than the operator pays: ${tooDear}`);
      return this.#options.receiptQueryIntervalMs;
    }
    const fees = this.#nextFees(market) ?? ((await this.#forgetAbandoned()) ? this.#nextFees(market) : undefined);
    if (fees === undefined) return this.#options.resubmissionTimeoutMs;
    await this.#prepare(head.timestamp);
    const sidecar = this.#sidecar;
    const tx = unsignedTransaction(candidate, { chainId: l1ChainId, nonce, fees, sidecar, estimatedGas: this.#estimatedGas });
    const signed = await signer.signTransaction(tx);
    const hash = bytesToHex(keccak256(signed));
    // Recorded before it is sent, because the transaction may be accepted although the answer is lost.
    const isNew = this.#versions.every((version) => version.hash !== hash);
    const raw = rawTransaction(signed, sidecar);
    if (isNew) this.#versions.push({ hash, fees, raw });
    const { verdict: said, message } = await l1.send(raw);
    const verdict = this.#options.alreadyPublishedErrors?.some((part) => message.includes(part)) ? "accepted" : said;
    if (verdict === "accepted") {
      this.#lastFees = fees;
      this.#publishedAt = head.number;
      this.#nonceUsedCount = 0;
      this.#attempts++;
      this.#recordPublished(hash, fees);
      return this.#options.resubmissionTimeoutMs;
    }
    if (isNew) this.#versions.pop();
    metrics.publishErrors.inc({ error: verdict });
    return this.#afterRefusal(verdict, message, fees, maxCostWei(tx));
  }

  /** The blobs' proofs in L1's current version, and the gas limit. */
  async #prepare(headTimeSec: number): Promise<void> {
    const { l1, prover, sidecarVersion } = this.#deps;
    const { account, candidate } = this.#task;
    const { carries, gasLimit, to, value = 0n } = candidate;
    if (gasLimit === "estimated" || this.#wantsEstimate) {
      const data = carries.kind === "calldata" ? carries.data : new Uint8Array(0);
      // Estimated for each version, because L1's prices and state change.
      const estimate = await l1.estimateGas({ from: account.address, to, data, value }).catch((error: unknown) => {
        if (this.#estimatedGas === undefined) throw error;
        return 0n;
      });
      const withRoom = estimate + estimate / 10n;
      if (withRoom > (this.#estimatedGas ?? 0n)) this.#estimatedGas = withRoom;
    }
    if (carries.kind !== "blobs") return;
    const version = sidecarVersion.at(headTimeSec);
    if (this.#sidecar?.version === version) return;
    if (prover === undefined) throw new TxManagerError("tx-manager/no-prover");
    this.#sidecar = await prover.sidecar(carries.blobs, version);
  }

  async #afterRefusal(
    verdict: Exclude<Awaited<ReturnType<L1Access["send"]>>["verdict"], "accepted">,
    message: string,
    fees: TxFees,
    neededWei: bigint,
  ): Promise<number> {
    const { l1, log, sidecarVersion } = this.#deps;
    const { account, nonce } = this.#task;
    switch (verdict) {
      case "underpriced":
        this.#isOutbid = true;
        this.#lastFees = fees;
        log.debug("L1 wants a higher fee", { nonce, feeCapWei: fees.feeCap, message });
        return 0;
      case "nonce-too-low":
        this.#nonceUsedCount++;
        log.debug("L1 says that the nonce is used", { nonce, message });
        return Math.min(RETRY_MS, this.#options.receiptQueryIntervalMs);
      case "too-little-gas":
        if (!this.#wantsEstimate) log.warn("L1 asks for more gas than expected: a newer version may be due", { nonce, message });
        this.#wantsEstimate = true;
        return RETRY_MS;
      case "insufficient-funds": {
        const balanceWei = await l1.balance(account.address);
        const address = bytesToHex(account.address);
        account.logFunds("the account cannot pay for its transaction: send it ether", { address, balanceWei, neededWei, message });
        return RETRY_MS;
      }
      case "address-reserved":
        this.#isBlocked = account.isAlone(); // otherwise it waits for earlier own transactions
        return RETRY_MS;
      case "wrong-sidecar": {
        const { version } = this.#sidecar ?? {};
        if (version !== undefined && sidecarVersion.refused(version)) return 0;
        log.warn("L1 refuses the proofs of blobs: is --txmgr.cell-proof-time right?", { nonce, version, message });
        return RETRY_MS;
      }
      case "refused":
        log.warn("L1 refuses a transaction", { nonce, message });
        return RETRY_MS;
    }
  }

  #nextFees(market: L1FeeMarket): TxFees | undefined {
    const previous = this.#lastFees;
    const { candidate } = this.#task;
    const hasBlobs = carriesBlobs(candidate);
    const fees =
      previous === undefined
        ? suggestedFees(market, this.#options, hasBlobs)
        : replacementFees(previous, market, this.#options, hasBlobs);
    if (previous !== undefined && exceedsFeeLimit(fees, market, this.#options)) {
      this.#logFeeLimit(fees, "the fee limit forbids a better paid version of a transaction");
      return undefined;
    }
    if (allowsFees(candidate, fees)) return fees;
    this.#logFeeLimit(fees, "L1 asks more than a transaction may offer");
    return undefined;
  }

  /**
   * Forgets the fees of an abandoned transaction that the pool does not hold any more: there is nothing to outbid. Otherwise a price spike
   * that is over would forbid every later transaction with this nonce.
   *
   * @returns whether there was one
   */
  async #forgetAbandoned(): Promise<boolean> {
    const { account, nonce, previousFees } = this.#task;
    if (previousFees === undefined || this.#lastFees !== previousFees) return false;
    if ((await this.#deps.l1.nonce(account.address, "pending")) > nonce) return false;
    this.#deps.log.info("L1's pool has lost the abandoned transaction: its fees are no longer the minimum", { nonce });
    this.#lastFees = undefined;
    return true;
  }

  #logFeeLimit(fees: TxFees, text: string): void {
    this.#deps.log.warn(text, {
      nonce: this.#task.nonce,
      feeCapWei: fees.feeCap,
      ...(fees.blobFeeCap === undefined ? {} : { blobFeeCapWei: fees.blobFeeCap }),
      multiplier: this.#options.feeLimitMultiplier,
    });
  }

  async #findInclusion(): Promise<{ hash: Hex; fees: TxFees; inclusion: L1Inclusion; isDeep: boolean } | undefined> {
    const { l1 } = this.#deps;
    if (this.#versions.length === 0) {
      if (this.#isOutbid && (await l1.nonce(this.#task.account.address, "latest")) > this.#task.nonce) this.#nonceUsedCount++;
      return undefined;
    }
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
    const { account, nonce } = this.#task;
    const [latest, pending] = await Promise.all([l1.nonce(account.address, "latest"), l1.nonce(account.address, "pending")]);
    if (latest > nonce) this.#nonceUsedCount++;
    // An L1 reorganisation has lost transactions that were included before this one.
    this.#nonceGapCount = pending < nonce && !account.isTaken(pending) ? this.#nonceGapCount + 1 : 0;
    if (this.#wasIncluded) log.info("L1 has reorganised a transaction away: publishing it again", { nonce });
    // The pool has forgotten it: the same version does, at the same price.
    if (this.#wasIncluded || (latest <= nonce && pending === nonce)) await l1.send(this.#versions.at(-1)!.raw);
    this.#wasIncluded = false;
  }

  #recordPublished(hash: Hex, fees: TxFees): void {
    const { clock, log, metrics } = this.#deps;
    metrics.published.inc();
    metrics.lastPublished.set(Math.floor(clock.unixMs() / 1000));
    metrics.feeCap.set(gweiOf(fees.feeCap));
    this.#show({ stage: "published", hash });
    log.debug("transaction published", { nonce: this.#task.nonce, hash, feeCapWei: fees.feeCap, attempt: this.#attempts });
  }

  #show(news: Partial<ShownTransaction>): void {
    const { clock, feed } = this.#deps;
    const { carries } = this.#task.candidate;
    const bytes = carries.kind === "blobs" ? carries.blobs.reduce((sum, { length }) => sum + length, 0) : carries.data.length;
    this.#shown = { form: carries.kind, bytes, atMs: clock.unixMs(), ...this.#shown, ...news };
    feed?.put("l1tx", Number(this.#task.nonce), this.#shown);
  }

  #recordConfirmed({ isReverted, feeWei, blockNumber }: L1Inclusion, startMs: number): void {
    const { clock, metrics } = this.#deps;
    const costEther = feeWei === undefined ? undefined : etherOf(feeWei);
    this.#show({ stage: isReverted === true ? "reverted" : "confirmed", l1Block: blockNumber, costEther });
    const status = isReverted === true ? "failed" : "success";
    metrics.confirmed.inc({ status });
    metrics.lastConfirmed.set(Math.floor(clock.unixMs() / 1000), { status });
    metrics.gasBump.set(Math.max(0, this.#attempts - 1));
    metrics.confirmedLatencyMs.set(clock.monotonicMs() - startMs);
    if (feeWei === undefined) return;
    metrics.feeGwei.set(gweiOf(feeWei));
    metrics.feeGweiTotal.add(gweiOf(feeWei));
  }
}

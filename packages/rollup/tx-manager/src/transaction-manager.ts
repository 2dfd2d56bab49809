import { errorText, type Feed, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Signer } from "@rnode/signer";
import type { SendOutcome, TransactionManagerOptions, TxFees } from "./api.ts";
import type { BlobProver } from "./blob-prover.ts";
import type { L1Access } from "./l1-access.ts";
import { type Account, RETRY_MS, Sending } from "./sending.ts";
import { SidecarVersion } from "./sidecar-version.ts";
import { carriesBlobs, type TxCandidate } from "./tx-candidate.ts";
import type { TxMetrics } from "./tx-metrics.ts";

export interface TransactionManagerDeps {
  readonly l1ChainId: bigint;
  readonly l1: L1Access;
  readonly signer: Signer;
  /** `undefined`: no candidate has blobs */
  readonly prover?: BlobProver | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: TxMetrics;
  /** transactions for the dashboard */
  readonly feed?: Pick<Feed, "put"> | undefined;
}

/** A refusal for insufficient funds is not logged again within this time. */
const FUNDS_LOG_INTERVAL_MS = 60_000;

/** A blob of zeros, for a blob transaction that only uses a nonce. */
const EMPTY_BLOB = new Uint8Array(131_072);

/** Sends transactions from one account: nonces, fees, replacements, confirmations. Several may be pending at once. */
export class TransactionManager {
  readonly address: Uint8Array;
  readonly #options: TransactionManagerOptions;
  readonly #deps: TransactionManagerDeps;
  readonly #sidecarVersion: SidecarVersion;
  /** nonces of pending transactions */
  readonly #taken = new Set<bigint>();
  /** by nonce, the fees of abandoned transactions that may still be in the pool: a new one must pay more */
  readonly #abandonedFees = new Map<bigint, TxFees>();
  #nonceLock: Promise<unknown> = Promise.resolve();
  #lastFundsLogMs = Number.NEGATIVE_INFINITY;

  constructor(options: TransactionManagerOptions, deps: TransactionManagerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.address = deps.signer.address;
    this.#sidecarVersion = new SidecarVersion({ l1ChainId: deps.l1ChainId, cellProofTimeSec: options.cellProofTimeSec });
  }

  /** Sends a transaction and resolves once its outcome is known. Never rejects: failures of an endpoint or the signer are retried. */
  async send(candidate: TxCandidate, signal: AbortSignal): Promise<SendOutcome> {
    for (;;) {
      const nonce = await this.#takeNonce(signal);
      if (nonce === undefined) return { kind: "cancelled" };
      try {
        const outcome = await this.#sendWith(nonce, candidate, signal);
        if (outcome.kind !== "blocked") return outcome;
        // The pool still has a transaction of the other kind: a transaction of that kind replaces it and uses its nonce.
        this.#deps.log.warn("L1's pool holds a transaction of the other kind of this account: cancelling it", {
          nonce,
          holds: carriesBlobs(candidate) ? "no blobs" : "blobs",
        });
        const cancellation = await this.#sendWith(nonce, this.#cancellation(candidate), signal);
        if (cancellation.kind !== "confirmed" && cancellation.kind !== "blocked") return cancellation;
      } finally {
        this.#taken.delete(nonce);
      }
    }
  }

  async #sendWith(nonce: bigint, candidate: TxCandidate, signal: AbortSignal): Promise<SendOutcome | { readonly kind: "blocked" }> {
    const { metrics } = this.#deps;
    metrics.currentNonce.set(Number(nonce));
    metrics.pending.set(this.#taken.size);
    const account: Account = {
      address: this.address,
      isTaken: (other) => this.#taken.has(other),
      isAlone: () => this.#taken.size === 1,
      logFunds: (text, fields) => this.#logFunds(text, fields),
    };
    const sending = new Sending({ nonce, candidate, account, previousFees: this.#abandonedFees.get(nonce) }, this.#options, {
      ...this.#deps,
      sidecarVersion: this.#sidecarVersion,
    });
    const { result, lastFees } = await sending.run(signal);
    if (lastFees !== undefined && result.kind === "failed") this.#abandonedFees.set(nonce, lastFees);
    else this.#abandonedFees.delete(nonce);
    metrics.pending.set(this.#taken.size - 1);
    return result;
  }

  #cancellation(blocked: TxCandidate): TxCandidate {
    const carries = carriesBlobs(blocked)
      ? { kind: "calldata" as const, data: new Uint8Array(0) }
      : { kind: "blobs" as const, blobs: [EMPTY_BLOB] };
    return { to: this.address, carries };
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
          this.#deps.metrics.rpcErrors.inc();
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
    const now = this.#deps.clock.monotonicMs();
    if (now - this.#lastFundsLogMs < FUNDS_LOG_INTERVAL_MS) return;
    this.#lastFundsLogMs = now;
    this.#deps.log.error(text, fields);
  }
}

import { AltDaError, type DaClient } from "@rnode/alt-da";
import { errorText, type Logger } from "@rnode/observe";
import { Backoff, type Clock, concatBytes } from "@rnode/primitives";
import { DA_COMMITMENT_VERSION, encodeDaCommitment, MAX_DA_INPUT_BYTES, type RollupConfig } from "@rnode/protocol";
import type { SendOutcome, TransactionManager, TxCandidate } from "@rnode/tx-manager";
import { BatcherError } from "./batcher-error.ts";
import type { RbatcherOptions } from "./options.ts";

export interface DaTransactionsDeps {
  readonly transactions: Pick<TransactionManager, "address" | "send">;
  readonly store: Pick<DaClient, "put">;
  readonly clock: Clock;
  readonly log: Logger;
}

/** version, type and hash: the assumed size before the first commitment; keccak256 commitments always have it */
const USUAL_COMMITMENT_BYTES = 34;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 30_000;

/**
 * Sends commitments in place of data: a transaction's calldata goes to the DA server first. The order of transactions is that of the calls,
 * however long storing takes. Spec: docs/protocol/05-services.md#alternative-da
 */
export class DaTransactions {
  readonly #deps: DaTransactionsDeps;
  #turn: Promise<unknown> = Promise.resolve();
  #commitmentBytes = USUAL_COMMITMENT_BYTES;

  constructor(deps: DaTransactionsDeps) {
    this.#deps = deps;
  }

  get address(): Uint8Array {
    return this.#deps.transactions.address;
  }

  /** How long the calldata of the last transaction was. */
  get commitmentBytes(): number {
    return this.#commitmentBytes;
  }

  /** Tries until the data is stored: nothing is on L1 before that. */
  send(candidate: TxCandidate, signal: AbortSignal): Promise<SendOutcome> {
    const { carries } = candidate;
    const sent = this.#turn.then(async (): Promise<{ readonly outcome: Promise<SendOutcome> }> => {
      if (carries.kind !== "calldata") return { outcome: this.#deps.transactions.send(candidate, signal) };
      const data = await this.#stored(carries.data, signal);
      if (data === undefined) return { outcome: Promise.resolve({ kind: "cancelled" }) };
      return { outcome: this.#deps.transactions.send({ ...candidate, carries: { kind: "calldata", data } }, signal) };
    });
    // The next transaction may be sent after this one was passed to the sender, not after it is on L1.
    this.#turn = sent.catch(() => {});
    return sent.then(({ outcome }) => outcome);
  }

  /** @returns version byte ‖ commitment; undefined: the signal was aborted */
  async #stored(input: Uint8Array, signal: AbortSignal): Promise<Uint8Array | undefined> {
    const { store, clock, log } = this.#deps;
    const backoff = new Backoff({ firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
    while (!signal.aborted) {
      try {
        const commitment = concatBytes(Uint8Array.of(DA_COMMITMENT_VERSION), encodeDaCommitment(await store.put(input)));
        this.#commitmentBytes = commitment.length;
        return commitment;
      } catch (error) {
        if (!(error instanceof AltDaError)) throw error;
        const retryMs = backoff.nextMs();
        log.warn("batch data cannot be stored for now", { error: errorText(error), retryMs });
        await clock.sleep(retryMs, signal);
      }
    }
    return undefined;
  }
}

/**
 * Where the rollup keeps its data, and where the options say to put it, must be the same.
 *
 * @throws {BatcherError} batcher/bad-config
 */
export function assertAltDa({ altda, batches }: Pick<RbatcherOptions, "altda" | "batches">, { altDa }: RollupConfig): void {
  const refuse = (option: string, value: string | number, expected: string): never => {
    throw new BatcherError("batcher/bad-config", { option, value, expected });
  };
  const isWanted = altDa !== undefined;
  if (altda.enabled !== isWanted) {
    refuse("--altda.enabled", String(altda.enabled), `${isWanted}, as the rollup ${isWanted ? "has" : "does not have"} alt_da`);
  }
  if (altDa === undefined) return;
  const isGeneric = altDa.daCommitmentType === "GenericCommitment";
  if (altda.daService !== isGeneric) {
    refuse("--altda.da-service", String(altda.daService), `${isGeneric}, for the rollup's ${altDa.daCommitmentType}`);
  }
  if (batches.dataAvailabilityType !== "calldata") {
    refuse("--data-availability-type", batches.dataAvailabilityType, "calldata, which holds the commitments");
  }
  if (batches.maxL1TxSizeBytes > MAX_DA_INPUT_BYTES) {
    const why = "above which the data could not be shown to the challenge contract";
    refuse("--max-l1-tx-size-bytes", batches.maxL1TxSizeBytes, `at most ${MAX_DA_INPUT_BYTES}, ${why}`);
  }
}

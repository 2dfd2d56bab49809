import { errorText, type LogFields, type Logger } from "@rnode/observe";
import { bytesToHex, type Clock, concatBytes, equalBytes } from "@rnode/primitives";
import {
  blobVersionedHash,
  DA_COMMITMENT_VERSION,
  encodeBlob,
  encodeDaCommitment,
  keccakCommitment,
  type Transaction,
} from "@rnode/protocol";
import type { BlobProver } from "@rnode/tx-manager";
import type { TxData } from "../channels/channel-manager.ts";
import type { L1Access } from "./l1-access.ts";
import { nonceTaker } from "./nonce-taker.ts";

export interface SecondSubmitterDeps {
  readonly l1: Pick<L1Access, "head" | "nonceAt" | "transactionsAt">;
  /** the batcher's account and the inbox, 20 bytes each */
  readonly address: Uint8Array;
  readonly inbox: Uint8Array;
  /** after this time, a previous process's transactions are included or replaced */
  readonly stuckAfterMs: number;
  /** computes the commitments that identify own blobs; undefined: the batcher sends no blobs */
  readonly blobProver?: BlobProver | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** So many consecutive nonces of unknown origin count as the work of another program. */
const MAX_UNEXPLAINED = 3;

const STOPPED = "publishing has stopped: another program sends transactions with the batcher's key";

export interface StopReason {
  readonly text: string;
  readonly fields: LogFields;
}

/**
 * Detects another batch submitter with the same key, by the nonces it uses. Two submitters would pay for the same blocks twice.
 */
export class SecondSubmitterWatch {
  readonly #deps: SecondSubmitterDeps;
  #beganAtMs: number | undefined;
  #leftOverNonce = 0n;
  #newestOwnNonce = -1n;
  #unexplained = 0;

  constructor(deps: SecondSubmitterDeps) {
    this.#deps = deps;
  }

  /** @param leftOverNonce nonces below may be taken by transactions of a previous process */
  begin(leftOverNonce: bigint): void {
    this.#beganAtMs ??= this.#deps.clock.monotonicMs();
    if (leftOverNonce > this.#leftOverNonce) this.#leftOverNonce = leftOverNonce;
  }

  confirmed(nonce: bigint): void {
    if (nonce > this.#newestOwnNonce) this.#newestOwnNonce = nonce;
  }

  /**
   * Another transaction used the nonce of `tx`. @returns the reason to stop; undefined: the transaction may be this batcher's own
   */
  async inspect(nonce: bigint, tx: TxData): Promise<StopReason | undefined> {
    const { clock, log, stuckAfterMs } = this.#deps;
    const isEarly = this.#beganAtMs === undefined || clock.monotonicMs() - this.#beganAtMs < stuckAfterMs;
    if (isEarly || nonce < this.#leftOverNonce) {
      log.warn("an earlier transaction has taken the batcher's nonce", { nonce });
      return undefined;
    }
    return this.inspectForeign(nonce, tx);
  }

  /**
   * A transaction from elsewhere used a nonce. @param tx the own transaction for that nonce @returns the reason to stop;
   * undefined: the transaction may be this batcher's own
   */
  async inspectForeign(nonce: bigint, tx?: TxData): Promise<StopReason | undefined> {
    const { address, inbox, l1, log } = this.#deps;
    if (nonce <= this.#newestOwnNonce) return undefined; // an endpoint that lags behind calls nonces free that we have used
    const taker = await nonceTaker(l1, address, nonce).catch((error: unknown) => {
      log.warn("cannot find out which transaction took the batcher's nonce", { nonce, error: errorText(error) });
      return undefined;
    });
    if (taker === undefined) {
      this.#unexplained++;
      log.warn("another transaction has taken the batcher's nonce", { nonce, times: this.#unexplained });
      return this.#unexplained < MAX_UNEXPLAINED
        ? undefined
        : {
            text: `${STOPPED}. Stop the other one; publishing then starts again within minutes, or at once with admin_startBatcher`,
            fields: { nonce },
          };
    }
    const { transaction, hash, l1Block } = taker;
    const fields = { nonce, hash, l1Block, to: bytesToHex(transaction.to ?? new Uint8Array()) };
    if (transaction.to === undefined || !equalBytes(transaction.to, inbox)) {
      log.warn("the batcher's key was used for a transaction that is none of a batcher's", fields);
      return undefined;
    }
    if (tx !== undefined && (await isSameData(transaction, tx, this.#deps.blobProver))) return undefined; // a version of ours that L1 had said it refused
    return {
      text: `${STOPPED}: a second batch submitter. Stop one of them; the other then starts again within minutes, or at once with admin_startBatcher`,
      fields,
    };
  }
}

async function isSameData(transaction: Transaction, { carrier, data }: TxData, prover: BlobProver | undefined): Promise<boolean> {
  if (carrier === "calldata") return equalBytes(transaction.data, data[0]!) || isCommitmentTo(transaction.data, data[0]!);
  if (transaction.type !== 0x03 || prover === undefined || transaction.blobVersionedHashes.length !== data.length) return false;
  const { commitments } = await prover.sidecar(data.map(encodeBlob), 0);
  return transaction.blobVersionedHashes.every((hash, index) => equalBytes(hash, blobVersionedHash(commitments[index]!)));
}

/** With a DA server, L1 has only the hash of the data. */
const isCommitmentTo = (calldata: Uint8Array, data: Uint8Array): boolean =>
  equalBytes(calldata, concatBytes(Uint8Array.of(DA_COMMITMENT_VERSION), encodeDaCommitment(keccakCommitment(data))));

import type { L1FeeMarket } from "@rnode/l1";
import {
  type BlobSidecar,
  type BlobTransaction,
  blobVersionedHash,
  encodeBlobTransactionWithSidecar,
  type FeeMarketTransaction,
  GAS_PER_BLOB,
  l1DataGas,
  l1DataGasLimit,
} from "@rnode/protocol";
import type { TxFees } from "./api.ts";

/** A transaction to be sent, before its nonce, fees and signature are known. */
export interface TxCandidate {
  readonly to: Uint8Array;
  readonly carries:
    | { readonly kind: "calldata"; readonly data: Uint8Array }
    /** 131,072 bytes each */
    | { readonly kind: "blobs"; readonly blobs: readonly Uint8Array[] };
  /** wei; `undefined`: none */
  readonly value?: bigint | undefined;
  /**
   * `undefined`: enough for its data before and after L1's next price of data; "estimated": L1's estimate of the call plus a
   * tenth
   */
  readonly gasLimit?: bigint | "estimated" | undefined;
  /** upper limit for the gas price, wei; `undefined`: by the fee policy */
  readonly maxFeeCapWei?: bigint | undefined;
  /** upper limit for the blob gas price, wei */
  readonly maxBlobFeeCapWei?: bigint | undefined;
}

export const carriesBlobs = ({ carries }: TxCandidate): boolean => carries.kind === "blobs";

/** Whether the candidate's own caps allow these fees. */
export function allowsFees({ maxFeeCapWei, maxBlobFeeCapWei }: TxCandidate, fees: TxFees): boolean {
  if (maxFeeCapWei !== undefined && fees.feeCap > maxFeeCapWei) return false;
  return maxBlobFeeCapWei === undefined || fees.blobFeeCap === undefined || fees.blobFeeCap <= maxBlobFeeCapWei;
}

/** The values of a transaction that are known when it is signed. */
export interface TxParts {
  readonly chainId: bigint;
  readonly nonce: bigint;
  readonly fees: TxFees;
  /** of its blobs; `undefined` without blobs */
  readonly sidecar: BlobSidecar | undefined;
  /** for a candidate whose gas limit is estimated */
  readonly estimatedGas: bigint | undefined;
}

/** The transaction to be signed. */
export function unsignedTransaction(candidate: TxCandidate, parts: TxParts): FeeMarketTransaction | BlobTransaction {
  const { to, carries, value = 0n } = candidate;
  const { chainId, nonce, fees, sidecar, estimatedGas } = parts;
  const common = {
    chainId,
    nonce,
    maxPriorityFeePerGas: fees.tip,
    maxFeePerGas: fees.feeCap,
    gasLimit: 0n,
    to,
    value,
    data: carries.kind === "calldata" ? carries.data : new Uint8Array(0),
    accessList: [],
  };
  const tx: FeeMarketTransaction | BlobTransaction =
    sidecar === undefined
      ? { type: 0x02, ...common }
      : {
          type: 0x03,
          ...common,
          maxFeePerBlobGas: fees.blobFeeCap ?? 0n,
          blobVersionedHashes: sidecar.commitments.map(blobVersionedHash),
        };
  if (typeof candidate.gasLimit === "bigint") return { ...tx, gasLimit: candidate.gasLimit };
  const least = l1DataGasLimit(tx.data, value > 0n);
  return { ...tx, gasLimit: estimatedGas === undefined || estimatedGas < least ? least : estimatedGas };
}

/** The current cost of a candidate that runs no code, in wei. @param tipWei the offered priority fee */
export function costNow(candidate: TxCandidate, market: L1FeeMarket, tipWei: bigint): bigint {
  const { carries, value = 0n } = candidate;
  const gas = l1DataGas(market.dataPricing, carries.kind === "calldata" ? carries.data : new Uint8Array(0), value > 0n);
  const blobGas = carries.kind === "blobs" ? GAS_PER_BLOB * BigInt(carries.blobs.length) : 0n;
  return gas * (market.baseFee + tipWei) + blobGas * (market.blobBaseFee ?? 0n);
}

/** The bytes sent to L1: blobs travel with their transaction. */
export function rawTransaction(signed: Uint8Array, sidecar: BlobSidecar | undefined): Uint8Array {
  return sidecar === undefined ? signed : encodeBlobTransactionWithSidecar(signed, sidecar);
}

/** The most that the transaction can cost. */
export function maxCostWei(tx: FeeMarketTransaction | BlobTransaction): bigint {
  const gas = tx.gasLimit * tx.maxFeePerGas + tx.value;
  return tx.type === 0x03 ? gas + GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length) * tx.maxFeePerBlobGas : gas;
}

import {
  type BlobSidecar,
  type BlobTransaction,
  blobVersionedHash,
  EVM_FORKS,
  encodeBlobTransactionWithSidecar,
  type FeeMarketTransaction,
  floorDataGas,
  forkRules,
  GAS_PER_BLOB,
  intrinsicGas,
} from "@rnode/protocol";
import type { TxFees } from "./tx-fees.ts";

/** A transaction to be sent, before its nonce, fees and signature are known. */
export interface TxCandidate {
  readonly to: Uint8Array;
  readonly carries:
    | { readonly kind: "calldata"; readonly data: Uint8Array }
    | { readonly kind: "blobs"; readonly sidecar: BlobSidecar };
  /** undefined: its intrinsic gas, the cost before any code runs */
  readonly gasLimit?: bigint | undefined;
  /** upper limit for the gas price, wei; undefined: as the fee policy says */
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

/** The gas rules are those of the newest fork: older ones do not charge what they do not know. */
const GAS_RULES = forkRules(EVM_FORKS.at(-1)!);

/** The transaction to be signed. */
export function unsignedTransaction(
  candidate: TxCandidate,
  chainId: bigint,
  nonce: bigint,
  fees: TxFees,
): FeeMarketTransaction | BlobTransaction {
  const { to, carries } = candidate;
  const common = {
    chainId,
    nonce,
    maxPriorityFeePerGas: fees.tip,
    maxFeePerGas: fees.feeCap,
    gasLimit: 0n,
    to,
    value: 0n,
    data: carries.kind === "calldata" ? carries.data : new Uint8Array(0),
    accessList: [],
  };
  const tx: FeeMarketTransaction | BlobTransaction =
    carries.kind === "calldata"
      ? { type: 0x02, ...common }
      : {
          type: 0x03,
          ...common,
          maxFeePerBlobGas: fees.blobFeeCap ?? 0n,
          blobVersionedHashes: carries.sidecar.commitments.map(blobVersionedHash),
        };
  if (candidate.gasLimit !== undefined) return { ...tx, gasLimit: candidate.gasLimit };
  const intrinsic = intrinsicGas(GAS_RULES, tx);
  const floor = floorDataGas(GAS_RULES, tx.data);
  return { ...tx, gasLimit: intrinsic > floor ? intrinsic : floor };
}

/** The bytes sent to L1: blobs travel with their transaction. */
export function rawTransaction({ carries }: TxCandidate, signed: Uint8Array): Uint8Array {
  return carries.kind === "blobs" ? encodeBlobTransactionWithSidecar(signed, carries.sidecar) : signed;
}

/** The most that the transaction can cost. */
export function maxCostWei(tx: FeeMarketTransaction | BlobTransaction): bigint {
  const gas = tx.gasLimit * tx.maxFeePerGas + tx.value;
  return tx.type === 0x03 ? gas + GAS_PER_BLOB * BigInt(tx.blobVersionedHashes.length) * tx.maxFeePerBlobGas : gas;
}

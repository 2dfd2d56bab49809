import { bytesToHex, toQuantity } from "@rnode/primitives";
import {
  type AccessListEntry,
  type DepositTransaction,
  effectiveGasPrice,
  hashTransaction,
  isSigned,
  type Receipt,
  type SignedTransaction,
  signatureValues,
  type Transaction,
} from "@rnode/protocol";
import { feeCap } from "@rnode/txpool";
import type { Profile } from "../profile/profile.ts";
import type { BlockPlace } from "./block-place.ts";

export type JsonObject = Record<string, unknown>;

export interface MinedAt {
  readonly block: BlockPlace;
  readonly index: number;
  readonly receipt: Receipt;
}

/**
 * A transaction in the format of `eth_getTransactionByHash`. Spec: docs/protocol/04-rpc.md#transactions
 *
 * @param minedAt undefined: pending
 */
export function transactionToJson(profile: Profile, tx: Transaction, sender: Uint8Array, minedAt: MinedAt | undefined): JsonObject {
  // PERF: fields are assigned one by one; spreading parts into one object took most of the time for a full block.
  const json: JsonObject = {
    blockHash: minedAt === undefined ? null : (minedAt.block.hashHex ?? bytesToHex(minedAt.block.hash)),
    blockNumber: minedAt === undefined ? null : toQuantity(minedAt.block.number),
    from: bytesToHex(sender),
    gas: toQuantity(tx.gasLimit),
    hash: bytesToHex(hashTransaction(tx)),
    input: bytesToHex(tx.data),
  };
  if (tx.to !== undefined) json.to = bytesToHex(tx.to);
  json.transactionIndex = minedAt === undefined ? null : toQuantity(minedAt.index);
  json.value = toQuantity(tx.value);
  json.type = toQuantity(tx.type);
  if (isSigned(tx)) setSignedFields(json, tx, minedAt);
  else if (tx.type === 0x7e) setDepositFields(json, profile, tx, minedAt?.receipt);
  else setPostExecFields(json, profile, minedAt);
  json.blockTimestamp = minedAt === undefined ? null : toQuantity(minedAt.block.timestamp);
  return json;
}

function setSignedFields(json: JsonObject, tx: SignedTransaction, minedAt: MinedAt | undefined): void {
  const { v, r, s } = signatureValues(tx);
  if (tx.to === undefined) json.to = null;
  json.nonce = toQuantity(tx.nonce);
  json.gasPrice = toQuantity(minedAt === undefined ? feeCap(tx) : effectiveGasPrice(tx, minedAt.block.baseFeePerGas));
  if ("maxFeePerGas" in tx) {
    json.maxFeePerGas = toQuantity(tx.maxFeePerGas);
    json.maxPriorityFeePerGas = toQuantity(tx.maxPriorityFeePerGas);
  }
  if ("maxFeePerBlobGas" in tx) {
    json.maxFeePerBlobGas = toQuantity(tx.maxFeePerBlobGas);
    json.blobVersionedHashes = tx.blobVersionedHashes.map(bytesToHex);
  }
  if (tx.chainId !== undefined) json.chainId = toQuantity(tx.chainId);
  if ("accessList" in tx) json.accessList = accessListToJson(tx.accessList);
  if ("authorizationList" in tx) {
    json.authorizationList = tx.authorizationList.map((authorization) => ({
      chainId: toQuantity(authorization.chainId),
      address: bytesToHex(authorization.address),
      nonce: toQuantity(authorization.nonce),
      yParity: toQuantity(authorization.yParity),
      r: toQuantity(authorization.r),
      s: toQuantity(authorization.s),
    }));
  }
  json.v = toQuantity(v);
  json.r = toQuantity(r);
  json.s = toQuantity(s);
  if (tx.type !== 0x00) json.yParity = toQuantity(v);
}

export const accessListToJson = (accessList: readonly AccessListEntry[]): JsonObject[] =>
  accessList.map(({ address, storageKeys }) => ({ address: bytesToHex(address), storageKeys: storageKeys.map(bytesToHex) }));

function setDepositFields(json: JsonObject, profile: Profile, tx: DepositTransaction, receipt: Receipt | undefined): void {
  const keys = profile.transaction.deposit;
  const nonce = receipt?.depositNonce ?? (keys.hasNonceBeforeRegolith ? 0n : undefined);
  if (tx.to === undefined && keys.hasNullRecipient) json.to = null;
  if (nonce !== undefined) json.nonce = toQuantity(nonce);
  json.gasPrice = "0x0";
  json.sourceHash = bytesToHex(tx.sourceHash);
  json.mint = toQuantity(tx.mint);
  if (tx.isSystemTx) json.isSystemTx = keys.systemFlag;
  json.v = "0x0";
  json.r = "0x0";
  json.s = "0x0";
  if (keys.hasYParity) json.yParity = "0x0";
  if (receipt?.depositReceiptVersion !== undefined) json.depositReceiptVersion = toQuantity(receipt.depositReceiptVersion);
}

function setPostExecFields(json: JsonObject, profile: Profile, minedAt: MinedAt | undefined): void {
  if (!profile.transaction.postExecLooksSigned) {
    json.gasPrice = toQuantity(minedAt?.block.baseFeePerGas ?? 0n);
    return;
  }
  json.to = null;
  for (const name of ["nonce", "gasPrice", "v", "r", "s"]) json[name] = "0x0";
}

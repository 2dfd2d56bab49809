import { bytesToHex, toQuantity } from "@rnode/primitives";
import {
  type AccessListEntry,
  type DepositTransaction,
  effectiveGasPrice,
  hashTransaction,
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
 * A transaction as `eth_getTransactionByHash` shows it. Spec: protocol/04 §6
 *
 * @param minedAt undefined: pending
 */
export function transactionToJson(profile: Profile, tx: Transaction, sender: Uint8Array, minedAt: MinedAt | undefined): JsonObject {
  const place = {
    blockHash: minedAt === undefined ? null : bytesToHex(minedAt.block.hash),
    blockNumber: minedAt === undefined ? null : toQuantity(minedAt.block.number),
  };
  const index = { transactionIndex: minedAt === undefined ? null : toQuantity(minedAt.index) };
  const time =
    minedAt !== undefined && profile.transaction.hasBlockTimestamp ? { blockTimestamp: toQuantity(minedAt.block.timestamp) } : {};
  const own = tx.type === 0x7e ? depositFields(profile, tx, minedAt?.receipt) : signedFields(tx, minedAt);
  return {
    ...place,
    from: bytesToHex(sender),
    gas: toQuantity(tx.gasLimit),
    hash: bytesToHex(hashTransaction(tx)),
    input: bytesToHex(tx.data),
    ...(tx.to !== undefined && { to: bytesToHex(tx.to) }),
    ...index,
    value: toQuantity(tx.value),
    type: toQuantity(tx.type),
    ...own,
    ...time,
  };
}

function signedFields(tx: SignedTransaction, minedAt: MinedAt | undefined): JsonObject {
  const { v, r, s } = signatureValues(tx);
  return {
    ...(tx.to === undefined && { to: null }),
    nonce: toQuantity(tx.nonce),
    gasPrice: toQuantity(minedAt === undefined ? feeCap(tx) : effectiveGasPrice(tx, minedAt.block.baseFeePerGas)),
    ...("maxFeePerGas" in tx && {
      maxFeePerGas: toQuantity(tx.maxFeePerGas),
      maxPriorityFeePerGas: toQuantity(tx.maxPriorityFeePerGas),
    }),
    ...("maxFeePerBlobGas" in tx && {
      maxFeePerBlobGas: toQuantity(tx.maxFeePerBlobGas),
      blobVersionedHashes: tx.blobVersionedHashes.map(bytesToHex),
    }),
    ...(tx.chainId !== undefined && { chainId: toQuantity(tx.chainId) }),
    ...("accessList" in tx && { accessList: accessListToJson(tx.accessList) }),
    ...("authorizationList" in tx && {
      authorizationList: tx.authorizationList.map((authorization) => ({
        chainId: toQuantity(authorization.chainId),
        address: bytesToHex(authorization.address),
        nonce: toQuantity(authorization.nonce),
        yParity: toQuantity(authorization.yParity),
        r: toQuantity(authorization.r),
        s: toQuantity(authorization.s),
      })),
    }),
    v: toQuantity(v),
    r: toQuantity(r),
    s: toQuantity(s),
    ...(tx.type !== 0x00 && { yParity: toQuantity(v) }),
  };
}

export const accessListToJson = (accessList: readonly AccessListEntry[]): JsonObject[] =>
  accessList.map(({ address, storageKeys }) => ({ address: bytesToHex(address), storageKeys: storageKeys.map(bytesToHex) }));

function depositFields(profile: Profile, tx: DepositTransaction, receipt: Receipt | undefined): JsonObject {
  const keys = profile.transaction.deposit;
  const nonce = receipt?.depositNonce ?? (keys.hasNonceBeforeRegolith ? 0n : undefined);
  return {
    ...(tx.to === undefined && keys.hasNullRecipient && { to: null }),
    ...(nonce !== undefined && { nonce: toQuantity(nonce) }),
    gasPrice: "0x0",
    sourceHash: bytesToHex(tx.sourceHash),
    ...((tx.mint > 0n || keys.hasZeroMint) && { mint: toQuantity(tx.mint) }),
    ...(tx.isSystemTx && { isSystemTx: keys.systemFlag }),
    v: "0x0",
    r: "0x0",
    s: "0x0",
    ...(keys.hasYParity && { yParity: "0x0" }),
    ...(receipt?.depositReceiptVersion !== undefined && { depositReceiptVersion: toQuantity(receipt.depositReceiptVersion) }),
  };
}

import type { StoredBlock } from "@rnode/chain";
import { bytesToHex, encodeRlp, keccak256, rlpUint, toQuantity, ZERO_ADDRESS } from "@rnode/primitives";
import {
  type BlockRules,
  blobBaseFee,
  effectiveGasPrice,
  encodeTransaction,
  exactNumber,
  exactTimestamp,
  GAS_PER_BLOB,
  gasRefundsOf,
  hashTransaction,
  isSigned,
  type Log,
  type Receipt,
  type Transaction,
} from "@rnode/protocol";
import type { Profile } from "../profile/profile.ts";
import type { BlockPlace } from "./block-place.ts";
import { l1FeeFields, l1InfoOfBlock } from "./l1-fee-fields.ts";
import type { JsonObject } from "./transaction-json.ts";

export interface LogPlace {
  readonly block: BlockPlace;
  readonly transactionHash: Uint8Array;
  readonly transactionIndex: number;
  readonly logIndex: number;
}

/** @param removed whether the block has left the canonical chain */
export function logToJson(log: Log, place: LogPlace, removed = false): JsonObject {
  const { block } = place;
  const json: JsonObject = {
    address: bytesToHex(log.address),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(log.data),
    blockHash: block.hashHex ?? bytesToHex(block.hash),
    blockNumber: toQuantity(block.number),
  };
  json.blockTimestamp = toQuantity(block.timestamp);
  json.transactionHash = bytesToHex(place.transactionHash);
  json.transactionIndex = toQuantity(place.transactionIndex);
  json.logIndex = toQuantity(place.logIndex);
  json.removed = removed;
  return json;
}

export const placeOf = ({ hash, block: { header } }: StoredBlock): BlockPlace => ({
  hash,
  hashHex: bytesToHex(hash),
  number: exactNumber(header),
  timestamp: exactTimestamp(header),
  baseFeePerGas: header.baseFeePerGas,
});

/** Index within the block of a transaction's first log. */
function firstLogIndex(receipts: readonly Receipt[], transactionIndex: number): number {
  let count = 0;
  for (let index = 0; index < transactionIndex; index++) count += receipts[index]!.logs.length;
  return count;
}

const createdAddress = (sender: Uint8Array, nonce: bigint): Uint8Array =>
  keccak256(encodeRlp([sender, rlpUint(nonce)])).subarray(12);

/** The recipient, and the contract that a creation makes. */
function destinationOf(
  profile: Profile,
  tx: Transaction,
  sender: Uint8Array,
  nonce: bigint,
): { readonly to?: Uint8Array; readonly contract?: Uint8Array } {
  if (tx.type === 0x7d) return profile.receipt.postExecHasRecipient ? { to: ZERO_ADDRESS } : {};
  return tx.to === undefined ? { contract: createdAddress(sender, nonce) } : { to: tx.to };
}

/**
 * The receipts of a block's transactions, of all or of one, as `eth_getTransactionReceipt` shows them.
 * Spec: docs/protocol/04-rpc.md#receipts
 */
export function receiptsToJson(profile: Profile, rules: BlockRules, stored: StoredBlock, only?: number): JsonObject[] {
  const { block, receipts, senders } = stored;
  const { header } = block;
  const place = placeOf(stored);
  const l1Info = rules.op === undefined ? undefined : l1InfoOfBlock(block);
  const refunds = rules.acceptsGasRefunds ? gasRefundsOf(block.transactions.at(-1)) : undefined;
  const indices = only === undefined ? block.transactions.keys() : [only];
  const all: JsonObject[] = [];
  for (const index of indices) {
    const tx = block.transactions[index]!;
    const receipt = receipts[index]!;
    const sender = senders[index]!;
    const transactionHash = hashTransaction(tx);
    const nonce = isSigned(tx) ? tx.nonce : (receipt.depositNonce ?? 0n);
    const { to, contract } = destinationOf(profile, tx, sender, nonce);
    const refund = refunds?.get(index);
    const logBase = firstLogIndex(receipts, index);
    const before = index === 0 ? 0n : receipts[index - 1]!.cumulativeGasUsed;
    all.push({
      ...(receipt.status === undefined ? { root: bytesToHex(receipt.stateRoot!) } : { status: toQuantity(receipt.status) }),
      cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
      logs: receipt.logs.map((log, position) =>
        logToJson(log, { block: place, transactionHash, transactionIndex: index, logIndex: logBase + position }),
      ),
      logsBloom: bytesToHex(receipt.bloom),
      type: toQuantity(tx.type),
      transactionHash: bytesToHex(transactionHash),
      transactionIndex: toQuantity(index),
      blockHash: bytesToHex(stored.hash),
      blockNumber: toQuantity(place.number),
      gasUsed: toQuantity(receipt.cumulativeGasUsed - before),
      effectiveGasPrice: toQuantity(effectiveGasPrice(tx, header.baseFeePerGas)),
      from: bytesToHex(sender),
      to: to === undefined ? null : bytesToHex(to),
      contractAddress: contract === undefined ? null : bytesToHex(contract),
      ...(tx.type === 0x03 && {
        blobGasUsed: toQuantity(BigInt(tx.blobVersionedHashes.length) * GAS_PER_BLOB),
        blobGasPrice: toQuantity(
          rules.blobParams === undefined ? 1n : blobBaseFee(header.excessBlobGas ?? 0n, rules.blobParams.baseFeeUpdateFraction),
        ),
      }),
      ...(receipt.depositNonce !== undefined && { depositNonce: toQuantity(receipt.depositNonce) }),
      ...(receipt.depositReceiptVersion !== undefined && { depositReceiptVersion: toQuantity(receipt.depositReceiptVersion) }),
      ...(l1Info !== undefined && l1FeeFields(profile, rules, l1Info, tx.type === 0x7e, encodeTransaction(tx))),
      ...(refund !== undefined && { opGasRefund: toQuantity(refund) }),
    });
  }
  return all;
}

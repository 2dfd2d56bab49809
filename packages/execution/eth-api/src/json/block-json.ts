import type { StoredBlock } from "@rnode/chain";
import { bytesToHex, toQuantity } from "@rnode/primitives";
import {
  encodeBlock,
  exactNumber,
  exactTimestamp,
  type Header,
  hashHeader,
  hashTransaction,
  withdrawalToJson,
} from "@rnode/protocol";
import type { Profile } from "../profile/profile.ts";
import { placeOf } from "./receipt-json.ts";
import { type JsonObject, transactionToJson } from "./transaction-json.ts";

/** A header as `newHeads` sends it, which is also the first part of a block object. Spec: docs/protocol/04-rpc.md#blocks-logs-sync-fees */
export function headerToJson(header: Header, hash: Uint8Array): JsonObject {
  return {
    number: toQuantity(exactNumber(header)),
    hash: bytesToHex(hash),
    parentHash: bytesToHex(header.parentHash),
    nonce: bytesToHex(header.nonce),
    mixHash: bytesToHex(header.mixHash),
    sha3Uncles: bytesToHex(header.ommersHash),
    logsBloom: bytesToHex(header.logsBloom),
    stateRoot: bytesToHex(header.stateRoot),
    miner: bytesToHex(header.beneficiary),
    difficulty: toQuantity(header.difficulty),
    extraData: bytesToHex(header.extraData),
    gasLimit: toQuantity(header.gasLimit),
    gasUsed: toQuantity(header.gasUsed),
    timestamp: toQuantity(exactTimestamp(header)),
    transactionsRoot: bytesToHex(header.transactionsRoot),
    receiptsRoot: bytesToHex(header.receiptsRoot),
    ...(header.baseFeePerGas !== undefined && { baseFeePerGas: toQuantity(header.baseFeePerGas) }),
    ...(header.withdrawalsRoot !== undefined && { withdrawalsRoot: bytesToHex(header.withdrawalsRoot) }),
    ...(header.blobGasUsed !== undefined && { blobGasUsed: toQuantity(header.blobGasUsed) }),
    ...(header.excessBlobGas !== undefined && { excessBlobGas: toQuantity(header.excessBlobGas) }),
    ...(header.parentBeaconBlockRoot !== undefined && { parentBeaconBlockRoot: bytesToHex(header.parentBeaconBlockRoot) }),
    ...(header.requestsHash !== undefined && { requestsHash: bytesToHex(header.requestsHash) }),
    ...(header.blockAccessListHash !== undefined && { blockAccessListHash: bytesToHex(header.blockAccessListHash) }),
    ...(header.slotNumber !== undefined && { slotNumber: toQuantity(header.slotNumber) }),
  };
}

export interface BlockJsonOptions {
  /** transactions as objects instead of hashes */
  readonly full: boolean;
  readonly totalDifficulty: bigint | undefined;
}

/** A block as `eth_getBlockByNumber` shows it. */
export function blockToJson(profile: Profile, stored: StoredBlock, { full, totalDifficulty }: BlockJsonOptions): JsonObject {
  const { block, hash, receipts, senders } = stored;
  const place = placeOf(stored);
  return {
    ...headerToJson(block.header, hash),
    ...(profile.block.hasTotalDifficulty && totalDifficulty !== undefined && { totalDifficulty: toQuantity(totalDifficulty) }),
    size: toQuantity(encodeBlock(block).length),
    uncles: block.ommers.map((ommer) => bytesToHex(hashHeader(ommer))),
    transactions: full
      ? block.transactions.map((tx, index) =>
          transactionToJson(profile, tx, senders[index]!, { block: place, index, receipt: receipts[index]! }),
        )
      : block.transactions.map((tx) => bytesToHex(hashTransaction(tx))),
    ...(block.withdrawals !== undefined && { withdrawals: block.withdrawals.map(withdrawalToJson) }),
  };
}

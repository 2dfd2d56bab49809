import type { StateChanges } from "@rnode/evm";
import { bytesToBigint, bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import { encodeTransaction, type Flashblock, type FlashblockMetadata, hashTransaction } from "@rnode/protocol";
import type { PendingBlock } from "../chain-parts.ts";

/** The latest part of a block under construction, as it is streamed. */
export function flashblockOf(pending: PendingBlock): Flashblock {
  const { payloadId, index, earlier, block } = pending;
  const { header, transactions } = block;
  return {
    payloadId,
    index,
    base:
      index > 0
        ? undefined
        : {
            parentBeaconBlockRoot: header.parentBeaconBlockRoot ?? ZERO_HASH,
            parentHash: header.parentHash,
            feeRecipient: header.beneficiary,
            prevRandao: header.mixHash,
            blockNumber: header.number,
            gasLimit: header.gasLimit,
            timestamp: header.timestamp,
            extraData: header.extraData,
            baseFeePerGas: header.baseFeePerGas ?? 0n,
          },
    diff: {
      stateRoot: ZERO_HASH,
      receiptsRoot: header.receiptsRoot,
      logsBloom: header.logsBloom,
      gasUsed: header.gasUsed,
      blockHash: ZERO_HASH,
      transactions: transactions.slice(earlier).map(encodeTransaction),
      withdrawalsRoot: ZERO_HASH,
      blobGasUsed: header.blobGasUsed,
    },
    blockNumber: header.number,
  };
}

/** What that part tells readers that do not execute. */
export function flashblockMetadataOf({ block, earlier, receipts, changes }: PendingBlock): FlashblockMetadata {
  const added = block.transactions.slice(earlier);
  return {
    receipts: new Map(added.map((transaction, index) => [bytesToHex(hashTransaction(transaction)), receipts[earlier + index]!])),
    balances: balancesOf(changes),
  };
}

/** Layout of a record's account: nonce 8 ‖ balance 32 ‖ code hash 32. */
const BALANCE_AT = 8;

function balancesOf({ accounts, records }: StateChanges): ReadonlyMap<Hex, bigint> {
  const balances = new Map<Hex, bigint>();
  if (records === undefined) {
    for (const { address, after } of accounts) balances.set(bytesToHex(address), after?.balance ?? 0n);
    return balances;
  }
  const { bytes } = records; // PERF: without the objects of all accounts and slots
  for (let at = 0; at < bytes.length; at = records.nextAfter(at)) {
    const balanceAt = records.accountOf(at) + BALANCE_AT;
    const balance = records.exists(at) ? bytesToBigint(bytes.subarray(balanceAt, balanceAt + 32)) : 0n;
    balances.set(bytesToHex(bytes.subarray(at, at + 20)), balance);
  }
  return balances;
}

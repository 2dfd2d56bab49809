import { blockToJson, PROFILE_R, receiptsToJson } from "@rnode/eth-api";
import { bytesToHex, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, EMPTY_TRIE_ROOT, type Hex, hexToBytes } from "@rnode/primitives";
import {
  type BlobTransaction,
  EVM_FORKS,
  encodeReceipt,
  encodeTransaction,
  type FeeMarketTransaction,
  forkRules,
  type Header,
  hashHeader,
  type Log,
  logsBloom,
  type Receipt,
  recoverSender,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

const CHAIN_ID = 900n;
const RULES = { ...forkRules(EVM_FORKS.at(-1)!), chainId: CHAIN_ID, blobParams: undefined, isDaoForkBlock: false };

/** who gets the transactions with blobs */
export const BLOB_RECEIVER = filled(20, 0x66);

export interface BlockFixture {
  readonly hash: Hex;
  readonly header: Header;
  readonly transactions: readonly SignedTransaction[];
  readonly receipts: readonly Receipt[];
  /** of eth_getBlockBy… with hashes and with full transactions */
  readonly json: Record<string, unknown>;
  readonly fullJson: Record<string, unknown>;
  readonly receiptsJson: Record<string, unknown>[];
  readonly rawReceipts: Hex[];
}

/**
 * A Prague block with signed transactions, one log each, and correct roots.
 *
 * @param blobHashes the blobs of one more transaction
 */
export function blockFixture(
  number: number,
  transactionCount: number,
  parentHash = filled(32, 0x01),
  blobHashes: readonly Uint8Array[] = [],
  stateRoot = filled(32, 0x02),
): BlockFixture {
  const transactions: SignedTransaction[] = Array.from({ length: transactionCount }, (_, index) =>
    signTransaction<FeeMarketTransaction>(
      {
        type: 0x02,
        chainId: CHAIN_ID,
        nonce: BigInt(index),
        maxPriorityFeePerGas: 1n,
        maxFeePerGas: 10n ** 9n,
        gasLimit: 100_000n,
        to: filled(20, 0x22),
        value: BigInt(number),
        data: filled(3, index),
        accessList: [],
      },
      filled(32, 0x11),
    ),
  );
  if (blobHashes.length > 0) transactions.push(blobTransaction(transactionCount, blobHashes));
  const receipts = transactions.map(({ type }, index): Receipt => {
    const logs: Log[] = [{ address: filled(20, 0x33), topics: [filled(32, index)], data: filled(5, index) }];
    return { type, status: 1, cumulativeGasUsed: 30_000n * BigInt(index + 1), bloom: logsBloom(logs), logs };
  });
  const header: Header = {
    parentHash,
    ommersHash: EMPTY_OMMERS_HASH,
    beneficiary: filled(20, 0x44),
    stateRoot,
    transactionsRoot: orderedTrieRoot(transactions.map((transaction) => encodeTransaction(transaction))),
    receiptsRoot: orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt))),
    logsBloom: filled(256, 0),
    difficulty: 0n,
    number,
    gasLimit: 30_000_000n,
    gasUsed: 30_000n * BigInt(transactions.length),
    timestamp: 1_700_000_000 + number * 12,
    extraData: filled(2, 0x55),
    mixHash: filled(32, 0x03),
    nonce: filled(8, 0),
    baseFeePerGas: 7n,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
    blobGasUsed: 0n,
    excessBlobGas: 100n,
    parentBeaconBlockRoot: filled(32, 0x04),
    requestsHash: EMPTY_REQUESTS_HASH,
  };
  const hash = bytesToHex(hashHeader(header));
  const stored = {
    hash: hexToBytes(hash),
    block: { header, transactions, ommers: [], withdrawals: [] },
    receipts,
    senders: transactions.map((transaction) => recoverSender(transaction)),
  };
  const shown = (full: boolean) => blockToJson(PROFILE_R, stored, { full, totalDifficulty: undefined });
  const receiptsJson = receiptsToJson(PROFILE_R, RULES, stored);
  const rawReceipts = receipts.map((receipt) => bytesToHex(encodeReceipt(receipt)));
  return { hash, header, transactions, receipts, json: shown(false), fullJson: shown(true), receiptsJson, rawReceipts };
}

function blobTransaction(nonce: number, blobVersionedHashes: readonly Uint8Array[]): BlobTransaction {
  const transaction: BlobTransaction = {
    type: 0x03,
    chainId: CHAIN_ID,
    nonce: BigInt(nonce),
    maxPriorityFeePerGas: 1n,
    maxFeePerGas: 10n ** 9n,
    gasLimit: 100_000n,
    to: BLOB_RECEIVER,
    value: 0n,
    data: new Uint8Array(),
    accessList: [],
    maxFeePerBlobGas: 1n,
    blobVersionedHashes,
  };
  return signTransaction(transaction, filled(32, 0x11));
}

import { EMPTY_TRIE_ROOT, keccak256 } from "@rnode/primitives";
import {
  type Block,
  encodeReceipts,
  encodeTransaction,
  type FeeMarketTransaction,
  hashHeader,
  type Log,
  logsBloom,
  type Receipt,
  recoverSender,
  type SignedTransaction,
  signTransaction,
} from "@rnode/protocol";
import { headerOf } from "@rnode/protocol/testing";
import type { BlockCommit, ChainDatabase } from "@rnode/storage";
import { orderedTrieRoot } from "@rnode/trie";

const KEY = keccak256(Uint8Array.of(7));
const PLAIN_CHAIN_ID = 7_357n;
const TO = new Uint8Array(20).fill(0x11);
const GENESIS_TIME_SEC = 1_700_000_000;

/** A signed transfer with some data. */
export const transfer = (nonce: bigint, dataBytes = 0, fee = 10n ** 9n): SignedTransaction =>
  signTransaction<FeeMarketTransaction>(
    {
      type: 0x02,
      chainId: PLAIN_CHAIN_ID,
      nonce,
      maxPriorityFeePerGas: 1n,
      maxFeePerGas: fee,
      gasLimit: 21_000n,
      to: TO,
      value: 1n,
      data: new Uint8Array(dataBytes).fill(5),
      accessList: [],
    },
    KEY,
  );

/** A legacy transaction, one with an access list, and one with a priority fee. */
function transactionsOf(number: number, dataBytes: number): SignedTransaction[] {
  const nonce = BigInt(3 * number);
  const common = {
    chainId: PLAIN_CHAIN_ID,
    gasPrice: 10n ** 9n,
    gasLimit: 50_000n,
    to: TO,
    value: 2n,
    data: new Uint8Array(dataBytes).fill(number),
  };
  return [
    signTransaction({ ...common, type: 0x00, nonce }, KEY),
    signTransaction({ ...common, type: 0x01, nonce: nonce + 1n, accessList: [{ address: TO, storageKeys: [keccak256(TO)] }] }, KEY),
    transfer(nonce + 2n, dataBytes),
  ];
}

function receiptOf({ type }: SignedTransaction, index: number, number: number): Receipt {
  const logs: Log[] =
    index === 0 ? [] : [{ address: TO, topics: [keccak256(Uint8Array.of(number & 255))], data: new Uint8Array(40 + index) }];
  return { type, status: index === 1 ? 0 : 1, cumulativeGasUsed: BigInt((index + 1) * 21_000), bloom: logsBloom(logs), logs };
}

/** A block without state changes, which serving does not need. */
function plainBlock(parent: BlockCommit | undefined, dataBytes: number): BlockCommit {
  const number = parent === undefined ? 0 : parent.block.header.number + 1;
  const transactions = parent === undefined ? [] : transactionsOf(number, dataBytes);
  const receipts = transactions.map((transaction, index) => receiptOf(transaction, index, number));
  const header = headerOf({
    ...(parent !== undefined && { parentHash: parent.hash }),
    number,
    timestamp: GENESIS_TIME_SEC + 2 * number,
    stateRoot: EMPTY_TRIE_ROOT,
    transactionsRoot: orderedTrieRoot(transactions.map((transaction) => encodeTransaction(transaction))),
    receiptsRoot: orderedTrieRoot(encodeReceipts(receipts)),
    gasUsed: BigInt(transactions.length * 21_000),
    baseFeePerGas: 7n,
    withdrawalsRoot: EMPTY_TRIE_ROOT,
  });
  const block: Block = { header, transactions, ommers: [], withdrawals: [] };
  return {
    block,
    hash: hashHeader(header),
    receipts,
    senders: transactions.map((transaction) => recoverSender(transaction)),
    changes: { accounts: [], codes: [] },
    storageRoots: new Map(),
    nodes: [],
  };
}

/** Fills an empty database with blocks of three ordinary transactions. @returns the blocks, the genesis first */
export function writePlainChain(store: ChainDatabase, blocks: number, dataBytes = 10): BlockCommit[] {
  const commits = [plainBlock(undefined, 0)];
  store.writeGenesis(commits[0]!);
  for (let i = 0; i < blocks; i++) {
    const commit = plainBlock(commits.at(-1), dataBytes);
    store.commitBlock(commit);
    commits.push(commit);
  }
  return commits;
}

import { EMPTY_OMMERS_HASH, encodeRlp, equalBytes, keccak256 } from "@rnode/primitives";
import {
  type Block,
  type BlockRules,
  type ChainConfig,
  encodeBlock,
  encodeWithdrawal,
  GAS_PER_BLOB,
  type Header,
  headerToRlp,
  isSigned,
  isTransactionTypeAllowed,
  type Transaction,
  userTransactionsAt,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import type { BlockFault } from "../api.ts";
import { blockFault, mismatch } from "../faults.ts";
import type { PreparedBlock } from "../prepared-block.ts";

/**
 * Checks that the body is the one that the header commits to. A fault says nothing about the block with this hash, which may be valid
 * with another body.
 */
export function checkBodyBelongs(rules: BlockRules, prepared: PreparedBlock): BlockFault | undefined {
  const { block } = prepared;
  return checkTransactionsRoot(prepared) ?? checkOmmersHash(block) ?? checkWithdrawals(rules, block);
}

/** Checks that a body that matches its header contains only items that the fork allows. */
export function checkBody(config: ChainConfig, rules: BlockRules, parent: Header, block: Block): BlockFault | undefined {
  return (
    checkTransactionTypes(rules, block.transactions) ??
    checkFirstBlock(config, parent, block) ??
    checkBlobGasUsed(rules, block) ??
    checkSize(rules, block)
  );
}

/** Whether a fork begins in a block that forbids users' transactions there. Spec: docs/protocol/01-execution.md#header-and-body-validity */
export const forbidsUserTransactions = (
  { optimism }: ChainConfig,
  parent: Pick<Header, "timestamp">,
  { timestamp }: Pick<Header, "timestamp">,
): boolean => optimism !== undefined && userTransactionsAt(optimism.forkTimes, timestamp, parent.timestamp) === "forbidden";

function checkFirstBlock(config: ChainConfig, parent: Header, { header, transactions }: Block): BlockFault | undefined {
  if (!forbidsUserTransactions(config, parent, header)) return undefined;
  const index = transactions.findIndex(isSigned);
  return index === -1 ? undefined : blockFault("user-transaction-in-first-block", { index, type: transactions[index]!.type });
}

function checkTransactionTypes(rules: BlockRules, transactions: readonly Transaction[]): BlockFault | undefined {
  for (const [index, { type }] of transactions.entries()) {
    if (!isTransactionTypeAllowed(rules, type)) {
      return blockFault("transaction-type-not-allowed", { index, type, fork: rules.op ?? rules.evm });
    }
  }
  return undefined;
}

function checkTransactionsRoot({ header, transactionsRoot }: PreparedBlock): BlockFault | undefined {
  return equalBytes(transactionsRoot, header.transactionsRoot)
    ? undefined
    : mismatch("transactions-root-mismatch", transactionsRoot, header.transactionsRoot);
}

function checkOmmersHash({ header, ommers }: Block): BlockFault | undefined {
  const hash = ommers.length === 0 ? EMPTY_OMMERS_HASH : keccak256(encodeRlp(ommers.map(headerToRlp)));
  return equalBytes(hash, header.ommersHash) ? undefined : mismatch("ommers-hash-mismatch", hash, header.ommersHash);
}

function checkWithdrawals(rules: BlockRules, { header, withdrawals }: Block): BlockFault | undefined {
  if ((withdrawals !== undefined) !== rules.hasWithdrawals) {
    return blockFault("withdrawals-presence", { fork: rules.op ?? rules.evm });
  }
  if (withdrawals === undefined || header.withdrawalsRoot === undefined) return undefined;
  if (rules.op !== undefined) {
    // Until Isthmus the header has the empty root, and afterwards the message passer's; both are checked elsewhere.
    return withdrawals.length === 0 ? undefined : blockFault("withdrawals-not-empty", { count: withdrawals.length });
  }
  const root = orderedTrieRoot(withdrawals.map(encodeWithdrawal));
  return equalBytes(root, header.withdrawalsRoot) ? undefined : mismatch("withdrawals-root-mismatch", root, header.withdrawalsRoot);
}

function checkBlobGasUsed(rules: BlockRules, { header, transactions }: Block): BlockFault | undefined {
  if (rules.op !== undefined || header.blobGasUsed === undefined) return undefined;
  let blobs = 0;
  for (const transaction of transactions) if (transaction.type === 0x03) blobs += transaction.blobVersionedHashes.length;
  const expected = BigInt(blobs) * GAS_PER_BLOB;
  return header.blobGasUsed === expected ? undefined : blockFault("blob-gas-used-mismatch", { expected, got: header.blobGasUsed });
}

/** EIP-7934, which does not apply to OP Stack chains. */
function checkSize(rules: BlockRules, block: Block): BlockFault | undefined {
  const maximum = rules.maxBlockRlpBytes;
  if (maximum === Number.POSITIVE_INFINITY) return undefined;
  const bytes = encodeBlock(block).length;
  return bytes <= maximum ? undefined : blockFault("block-too-large", { maximum, bytes });
}

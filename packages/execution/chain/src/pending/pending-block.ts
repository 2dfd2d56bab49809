import { EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, ZERO_HASH } from "@rnode/primitives";
import { type BlockRules, type Header, hashHeader, type Transaction } from "@rnode/protocol";
import type { PendingBlock } from "../chain-parts.ts";
import type { BlockRun, UnsealedHeader } from "../execute/block-run.ts";

export type PendingPlace = Pick<PendingBlock, "payloadId" | "index" | "earlier">;

/** What a block under construction consists of. */
export interface BlockSoFar {
  readonly rules: BlockRules;
  readonly header: UnsealedHeader & Pick<Header, "extraData">;
  readonly run: BlockRun;
  readonly transactions: readonly Transaction[];
  readonly senders: readonly Uint8Array[];
}

const ZERO_NONCE = new Uint8Array(8);

/** The block as it is now; later transactions do not change the result. */
export function pendingBlockOf(soFar: BlockSoFar, place: PendingPlace): PendingBlock {
  const { run } = soFar;
  const transactions = soFar.transactions.slice();
  const header = pendingHeader(soFar);
  return {
    ...place,
    block: { header, transactions, ommers: [], ...(soFar.rules.hasWithdrawals && { withdrawals: [] }) },
    hash: hashHeader(header),
    receipts: run.receipts.slice(),
    senders: soFar.senders.slice(),
    changes: run.execution.changes(),
  };
}

/** Its header, with zeros for what is known only of sealed blocks. */
export function pendingHeader({ rules, header, run }: Omit<BlockSoFar, "senders" | "transactions">): Header {
  return {
    ...header,
    ommersHash: EMPTY_OMMERS_HASH,
    stateRoot: ZERO_HASH,
    transactionsRoot: ZERO_HASH, // PERF: readers of a part need none
    receiptsRoot: run.receiptsRoot(),
    logsBloom: run.logsBloom,
    gasUsed: run.gasUsed,
    nonce: ZERO_NONCE,
    ...(rules.hasWithdrawals && { withdrawalsRoot: ZERO_HASH }),
    ...(rules.hasBlobGas && { blobGasUsed: rules.hasDaFootprint ? run.daFootprint : 0n }),
    ...(rules.hasExecutionRequests && { requestsHash: EMPTY_REQUESTS_HASH }),
  };
}

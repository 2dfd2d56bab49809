import { hexToBytes } from "@rnode/primitives";
import type { RollupConfig } from "../chains/rollup-config.ts";
import { l2BlockRefFromPayload, type PayloadFacts } from "../rollup/system-config.ts";
import { isDepositTransaction } from "../transactions/deposits.ts";
import type { SpanBatchInput } from "./span-batch.ts";

/**
 * The batcher's data of an L2 block: everything that derivation cannot compute.
 *
 * @throws {CodedError} l1-info/*, deposit/not-a-deposit, rlp/*: not a block of a rollup after its genesis
 */
export function batchInputFromPayload(config: RollupConfig, payload: PayloadFacts): SpanBatchInput {
  const { timestamp, l1Origin, sequenceNumber } = l2BlockRefFromPayload(config, payload);
  return {
    timestampSec: timestamp,
    parentHash: payload.parentHash,
    epochNumber: l1Origin.number,
    epochHash: hexToBytes(l1Origin.hash),
    sequenceNumber,
    transactions: payload.transactions.filter((transaction) => !isDepositTransaction(transaction)),
  };
}

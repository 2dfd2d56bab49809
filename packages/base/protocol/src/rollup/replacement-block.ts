import { bigintToBytes, CodedError, equalBytes } from "@rnode/primitives";
import { type OutputParts, outputRoot, outputRootPreimage } from "../blocks/output-root.ts";
import type { ExecutionPayloadEnvelope, PayloadAttributes } from "../blocks/payload.ts";
import type { RollupConfig } from "../chains/rollup-config.ts";
import { rollupRulesAt } from "../forks/fork-times.ts";
import { decodeEip1559ExtraData, encodeEip1559Params } from "../params/eip1559-params.ts";
import { REPLACEMENT_DEPOSITOR } from "../params/predeploys.ts";
import { DEPOSIT_TRANSACTION_TYPE, isDepositTransaction, replacementSourceHash } from "../transactions/deposits.ts";
import { decodeTransaction, encodeTransaction } from "../transactions/transaction-codec.ts";

export type ReplacementErrorCode =
  /** the block is of a time before blocks could be replaced */
  "replacement/not-replaceable";

const GAS_LIMIT = 36_000n;
const PREIMAGE_BYTES = 128;

/** The output that a payload with a message passer's root commits to; undefined before headers had that root. */
export function outputOfPayload({ executionPayload }: ExecutionPayloadEnvelope): OutputParts | undefined {
  const { stateRoot, withdrawalsRoot, blockHash } = executionPayload;
  return withdrawalsRoot && { stateRoot, messagePasserStorageRoot: withdrawalsRoot, blockHash };
}

/** The deposit that ends a replacement, and names what it replaces. */
export function replacementDeposit(replaced: OutputParts): Uint8Array {
  return encodeTransaction({
    type: DEPOSIT_TRANSACTION_TYPE,
    sourceHash: replacementSourceHash(outputRoot(replaced)),
    from: REPLACEMENT_DEPOSITOR,
    to: new Uint8Array(20),
    mint: 0n,
    value: 0n,
    gasLimit: GAS_LIMIT,
    isSystemTx: false,
    data: outputRootPreimage(replaced),
  });
}

/**
 * The attributes of the block that replaces one with an invalid executing message: those of the block itself, with its deposits only and
 * one more that names it. Spec: docs/protocol/02-derivation.md#interop-derivation
 *
 * @throws {CodedError} replacement/not-replaceable, extra-data/*
 */
export function replacementAttributes(
  config: Pick<RollupConfig, "forkTimes">,
  replaced: ExecutionPayloadEnvelope,
): PayloadAttributes {
  const { executionPayload: block, parentBeaconBlockRoot } = replaced;
  const { extraDataVersion } = rollupRulesAt(config.forkTimes, block.timestamp);
  const output = outputOfPayload(replaced);
  if (output === undefined || extraDataVersion === undefined) {
    throw new CodedError<ReplacementErrorCode>("replacement/not-replaceable", { number: block.blockNumber });
  }
  const { denominator, elasticity, minBaseFee } = decodeEip1559ExtraData(block.extraData, extraDataVersion);
  return {
    timestamp: block.timestamp,
    prevRandao: block.prevRandao,
    suggestedFeeRecipient: block.feeRecipient,
    withdrawals: block.withdrawals,
    parentBeaconBlockRoot,
    transactions: [...block.transactions.filter(isDepositTransaction), replacementDeposit(output)],
    noTxPool: true,
    gasLimit: block.gasLimit,
    eip1559Params: encodeEip1559Params(denominator, elasticity),
    ...(minBaseFee === undefined ? {} : { minBaseFee }),
  };
}

/** The output of the block that a replacement stands for; undefined if the block replaces none. @throws {CodedError} transaction/*, rlp/* */
export function replacedOutput(transactions: readonly Uint8Array[]): OutputParts | undefined {
  const last = transactions.at(-1);
  if (last === undefined || !isDepositTransaction(last)) return undefined;
  const deposit = decodeTransaction(last);
  if (deposit.type !== DEPOSIT_TRANSACTION_TYPE || !equalBytes(deposit.from, REPLACEMENT_DEPOSITOR)) return undefined;
  const { data } = deposit;
  if (data.length !== PREIMAGE_BYTES || !equalBytes(data.subarray(0, 32), bigintToBytes(0n, 32))) return undefined;
  return { stateRoot: data.subarray(32, 64), messagePasserStorageRoot: data.subarray(64, 96), blockHash: data.subarray(96) };
}

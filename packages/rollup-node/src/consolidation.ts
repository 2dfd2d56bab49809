import { bytesToHex, EMPTY_BYTES, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  type ExecutionPayloadEnvelope,
  extraDataFromAttributes,
  type PayloadAttributes,
  type RollupConfig,
  rollupRulesAt,
  type Withdrawal,
} from "@rnode/protocol";

/** A field in which a block differs from the attributes derived for its height. */
export type AttributesMismatch =
  | "parentHash"
  | "timestamp"
  | "prevRandao"
  | "transactionCount"
  | "transaction"
  | "gasLimit"
  | "withdrawals"
  | "parentBeaconBlockRoot"
  | "feeRecipient"
  | "extraData";

/**
 * Compares an unsafe block with the attributes that L1 says it must have been built from.
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation
 *
 * @returns the first field that differs; undefined when the block is the derived one
 */
export function attributesMismatch(
  config: RollupConfig,
  attributes: PayloadAttributes,
  parentHash: Hex,
  { executionPayload: block, parentBeaconBlockRoot }: ExecutionPayloadEnvelope,
): AttributesMismatch | undefined {
  const transactions = attributes.transactions ?? [];
  if (bytesToHex(block.parentHash) !== parentHash) return "parentHash";
  if (block.timestamp !== attributes.timestamp) return "timestamp";
  if (!equalBytes(block.prevRandao, attributes.prevRandao)) return "prevRandao";
  if (block.transactions.length !== transactions.length) return "transactionCount";
  if (transactions.some((transaction, index) => !equalBytes(transaction, block.transactions[index]!))) return "transaction";
  if (block.gasLimit !== attributes.gasLimit) return "gasLimit";
  if (!equalWithdrawals(attributes.withdrawals, block.withdrawals)) return "withdrawals";
  if (!equalOptionalBytes(attributes.parentBeaconBlockRoot, parentBeaconBlockRoot)) return "parentBeaconBlockRoot";
  if (!equalBytes(block.feeRecipient, attributes.suggestedFeeRecipient)) return "feeRecipient";
  if (!extraDataMatches(config, attributes, block.extraData)) return "extraData";
  return undefined;
}

/** Compares the EIP-1559 parameters, where zeros stand for the chain's constants, and the minimum base fee. */
function extraDataMatches(config: RollupConfig, attributes: PayloadAttributes, extraData: Uint8Array): boolean {
  if (rollupRulesAt(config.forkTimes, attributes.timestamp).extraDataVersion === undefined) return true;
  const expected = extraDataOf(config, attributes);
  return expected !== undefined && equalBytes(expected, extraData);
}

/** The `extraData` of the block that the attributes describe; undefined if no block can satisfy them, as the engine will report. */
export function extraDataOf(config: RollupConfig, attributes: PayloadAttributes): Uint8Array | undefined {
  if (rollupRulesAt(config.forkTimes, attributes.timestamp).extraDataVersion === undefined) return EMPTY_BYTES;
  const { eip1559DenominatorCanyon: denominator, eip1559Elasticity: elasticity } = config.chainOpConfig;
  try {
    return extraDataFromAttributes(
      attributes.eip1559Params ?? new Uint8Array(8),
      { denominator, elasticity },
      attributes.minBaseFee,
    );
  } catch (error) {
    if (isCodedError(error, "extra-data/")) return undefined;
    throw error;
  }
}

function equalOptionalBytes(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
  return a === undefined || b === undefined ? a === b : equalBytes(a, b);
}

function equalWithdrawals(a: readonly Withdrawal[] | undefined, b: readonly Withdrawal[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.length !== b.length) return false;
  return a.every((withdrawal, index) => {
    const other = b[index]!;
    return (
      withdrawal.index === other.index &&
      withdrawal.validatorIndex === other.validatorIndex &&
      withdrawal.amount === other.amount &&
      equalBytes(withdrawal.address, other.address)
    );
  });
}

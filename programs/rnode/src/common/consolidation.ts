import type { L2Block } from "@rnode/node-clients";
import { bytesToHex, EMPTY_BYTES, EMPTY_OMMERS_HASH, EMPTY_REQUESTS_HASH, equalBytes, isCodedError } from "@rnode/primitives";
import {
  extraDataFromAttributes,
  type Header,
  type L2BlockRef,
  type PayloadAttributes,
  type RollupConfig,
  rollupRulesAt,
  type Withdrawal,
} from "@rnode/protocol";

/** Derived numbers and timestamps are below 2^53: comparing them with the rounded ones of a header is exact. */
type HeaderField = Exclude<keyof Header, "exact">;

/** A field in which a block differs from the attributes derived for its height. */
export type AttributesMismatch =
  | Exclude<HeaderField, ExecutedField | "beneficiary" | "mixHash" | "number" | "transactionsRoot">
  | "blockNumber"
  | "feeRecipient"
  | "prevRandao"
  | "transactionCount"
  | "transaction"
  | "withdrawals";

/** Header fields that follow from executing the block on its parent. The engine that has the block has checked them. */
type ExecutedField = "stateRoot" | "receiptsRoot" | "logsBloom" | "gasUsed" | "baseFeePerGas";

/** The inputs that determine the other header fields of the derived block. */
interface Derived {
  readonly config: RollupConfig;
  readonly attributes: PayloadAttributes;
  readonly parent: Pick<L2BlockRef, "hash" | "number">;
  readonly rules: ReturnType<typeof rollupRulesAt>;
}

/** @returns the difference; undefined: none */
type Comparison = (block: Pick<L2Block, "header" | "envelope">, derived: Derived) => AttributesMismatch | undefined;

const ZERO_NONCE = new Uint8Array(8);

/** Every header field that does not follow from execution. Spec: docs/protocol/02-derivation.md#heads-and-consolidation */
// biome-ignore format: a row for each field
const COMPARISONS: Readonly<Record<Exclude<HeaderField, ExecutedField>, Comparison>> = {
  parentHash({ header }, { parent }) { if (bytesToHex(header.parentHash) !== parent.hash) return "parentHash"; },
  number({ header }, { parent }) { if (header.number !== parent.number + 1) return "blockNumber"; },
  timestamp({ header }, { attributes }) { if (header.timestamp !== attributes.timestamp) return "timestamp"; },
  mixHash({ header }, { attributes }) { if (!equalBytes(header.mixHash, attributes.prevRandao)) return "prevRandao"; },
  transactionsRoot({ envelope }, { attributes: { transactions = [] } }) {
    const { transactions: got } = envelope.executionPayload;
    if (got.length !== transactions.length) return "transactionCount";
    if (transactions.some((transaction, index) => !equalBytes(transaction, got[index]!))) return "transaction";
  },
  gasLimit({ header }, { attributes }) { if (header.gasLimit !== attributes.gasLimit) return "gasLimit"; },
  withdrawalsRoot({ header, envelope }, { attributes: { withdrawals }, rules }) {
    if (!equalWithdrawals(withdrawals, envelope.executionPayload.withdrawals)) return "withdrawals";
    // From Isthmus on it is a storage root, which follows from execution.
    const isThere = header.withdrawalsRoot !== undefined;
    if (isThere !== (rules.hasWithdrawals || rules.hasMessagePasserRoot)) return "withdrawalsRoot";
  },
  parentBeaconBlockRoot({ header }, { attributes }) { if (!isSame(header.parentBeaconBlockRoot, attributes.parentBeaconBlockRoot)) return "parentBeaconBlockRoot"; },
  beneficiary({ header }, { attributes }) { if (!equalBytes(header.beneficiary, attributes.suggestedFeeRecipient)) return "feeRecipient"; },
  extraData({ header }, { config, attributes }) { if (!isSame(header.extraData, extraDataOf(config, attributes))) return "extraData"; },
  blobGasUsed({ header: { blobGasUsed } }, { rules: { hasBeaconRoot, hasDaFootprint } }) {
    // From Jovian on it is the DA footprint, which follows from execution.
    const isDerived = hasDaFootprint ? blobGasUsed !== undefined : blobGasUsed === (hasBeaconRoot ? 0n : undefined);
    if (!isDerived) return "blobGasUsed";
  },
  excessBlobGas({ header }, { rules }) { if (header.excessBlobGas !== (rules.hasBeaconRoot ? 0n : undefined)) return "excessBlobGas"; },
  requestsHash({ header }, { rules }) { if (!isSame(header.requestsHash, rules.hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined)) return "requestsHash"; },
  ommersHash({ header }) { if (!equalBytes(header.ommersHash, EMPTY_OMMERS_HASH)) return "ommersHash"; },
  difficulty({ header }) { if (header.difficulty !== 0n) return "difficulty"; },
  nonce({ header }) { if (!equalBytes(header.nonce, ZERO_NONCE)) return "nonce"; },
  blockAccessListHash({ header }) { if (header.blockAccessListHash !== undefined) return "blockAccessListHash"; },
  slotNumber({ header }) { if (header.slotNumber !== undefined) return "slotNumber"; },
};
const ALL_COMPARISONS: readonly Comparison[] = Object.values(COMPARISONS);

/**
 * Compares an unsafe block with the attributes that L1 says it must have been built from.
 * Spec: docs/protocol/02-derivation.md#heads-and-consolidation
 *
 * @param block whose payload was checked against its header
 * @returns the first field that differs; undefined when the block is the derived one
 */
export function attributesMismatch(
  config: RollupConfig,
  attributes: PayloadAttributes,
  parent: Pick<L2BlockRef, "hash" | "number">,
  block: Pick<L2Block, "header" | "envelope">,
): AttributesMismatch | undefined {
  const derived = { config, attributes, parent, rules: rollupRulesAt(config.forkTimes, attributes.timestamp) };
  for (const compare of ALL_COMPARISONS) {
    const mismatch = compare(block, derived);
    if (mismatch !== undefined) return mismatch;
  }
  return undefined;
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

function isSame(a: Uint8Array | undefined, b: Uint8Array | undefined): boolean {
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

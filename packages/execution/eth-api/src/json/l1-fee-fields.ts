import { bytesToBigint, isCodedError, toQuantity } from "@rnode/primitives";
import {
  type Block,
  type BlockRules,
  daFootprint,
  daFootprintOf,
  decodeL1BlockInfo,
  estimatedDaGas,
  L1_INFO_LAYOUTS,
  type L1BlockInfo,
  type L1FeeParams,
  l1Cost,
  l1GasUsed,
  type Transaction,
} from "@rnode/protocol";
import type { Profile } from "../profile/profile.ts";

/** The L1 attributes of a block, read from its first deposit. */
export interface BlockL1Info {
  readonly info: L1BlockInfo;
  readonly params: L1FeeParams;
}

/** Undefined for a block without L1 information: the genesis, and blocks of Ethereum chains. */
export const l1InfoOfBlock = (block: Block): BlockL1Info | undefined => l1InfoOf(block.transactions[0]);

/** The same, from the block's first transaction. */
export function l1InfoOf(first: Transaction | undefined): BlockL1Info | undefined {
  if (first?.type !== 0x7e) return undefined;
  try {
    const info = decodeL1BlockInfo(first.data);
    return { info, params: feeParamsOf(info) };
  } catch (error) {
    if (isCodedError(error, "l1-info/")) return undefined; // a chain of our own tests, or Ecotone's first block with odd data
    throw error;
  }
}

const feeParamsOf = (info: L1BlockInfo): L1FeeParams => ({
  l1BaseFee: info.baseFee,
  blobBaseFee: info.blobBaseFee,
  baseFeeScalar: BigInt(info.baseFeeScalar),
  blobBaseFeeScalar: BigInt(info.blobBaseFeeScalar),
  overhead: bytesToBigint(info.overhead),
  scalar: bytesToBigint(info.scalar),
  operatorFeeScalar: BigInt(info.operatorFeeScalar),
  operatorFeeConstant: info.operatorFeeConstant,
  daFootprintGasScalar: BigInt(info.daFootprintGasScalar),
});

/** The fields that OP Stack receipts have in addition to Ethereum's. Spec: docs/protocol/04-rpc.md#receipts */
export function l1FeeFields(
  profile: Profile,
  rules: BlockRules,
  { info, params }: BlockL1Info,
  isDeposit: boolean,
  encoded: Uint8Array,
): Record<string, string> {
  const fields: Record<string, string> = {};
  if (rules.hasDaFootprint && (!isDeposit || profile.receipt.depositsHaveBlobGasUsed)) {
    const footprint = isDeposit ? daFootprintOf(params, encoded) : daFootprint(rules, params, encoded);
    fields.blobGasUsed = toQuantity(footprint);
  }
  if (isDeposit && !profile.receipt.depositsHaveL1Fields) {
    fields.l1Fee = "0x0";
    return fields;
  }
  fields.l1GasPrice = toQuantity(params.l1BaseFee);
  fields.l1GasUsed = toQuantity(isDeposit ? depositL1GasUsed(rules, params, info, encoded) : l1GasUsed(rules, params, encoded));
  fields.l1Fee = toQuantity(isDeposit ? 0n : l1Cost(rules, params, encoded));
  const { isPacked, hasDaFootprintGasScalar } = L1_INFO_LAYOUTS[info.layout];
  const hasFeeScalar = profile.receipt.l1FeeScalarByFork ? !rules.l1FeeCountsBlobs : !isPacked;
  if (hasFeeScalar) fields.l1FeeScalar = scalarText(params.scalar);
  if (!isPacked) {
    if (hasFeeScalar && profile.receipt.hasRawScalarBeforeEcotone) fields.l1BaseFeeScalar = toQuantity(params.scalar);
    return fields;
  }
  fields.l1BaseFeeScalar = toQuantity(params.baseFeeScalar);
  fields.l1BlobBaseFee = toQuantity(params.blobBaseFee);
  fields.l1BlobBaseFeeScalar = toQuantity(params.blobBaseFeeScalar);
  if (params.operatorFeeScalar > 0n || params.operatorFeeConstant > 0n) {
    fields.operatorFeeScalar = toQuantity(params.operatorFeeScalar);
    fields.operatorFeeConstant = toQuantity(params.operatorFeeConstant);
  }
  if (hasDaFootprintGasScalar) fields.daFootprintGasScalar = toQuantity(params.daFootprintGasScalar);
  return fields;
}

/** The same count over a deposit's encoding, although a deposit pays no L1 fee. */
function depositL1GasUsed(rules: BlockRules, params: L1FeeParams, info: L1BlockInfo, encoded: Uint8Array): bigint {
  const { isPacked } = L1_INFO_LAYOUTS[info.layout];
  if (rules.l1FeeEstimatesCompression && isPacked) return estimatedDaGas(encoded);
  let gas = 0;
  for (const byte of encoded) gas += byte === 0 ? 4 : 16;
  return BigInt(gas) + (isPacked ? 0n : params.overhead);
}

/** Six decimals without trailing zeros: 684000 is `0.684`. */
export function scalarText(scalar: bigint): string {
  const decimals = String(scalar % 1_000_000n)
    .padStart(6, "0")
    .replace(/0+$/, "");
  const whole = scalar / 1_000_000n;
  return decimals === "" ? String(whole) : `${whole}.${decimals}`;
}

import { EMPTY_BYTES, isCodedError } from "@rnode/primitives";
import {
  type BlockRules,
  type ChainConfig,
  chainEip1559Params,
  childNumber,
  decodeEip1559Params,
  decodeTransaction,
  exactTimestamp,
  extraDataFromAttributes,
  type GasRefunds,
  type Header,
  type ExtraDataVersion,
  hasMinBaseFee,
  isL1AttributesDeposit,
  nextBaseFee,
  nextExcessBlobGas,
  type PayloadAttributes,
  positionFields,
  type Transaction,
} from "@rnode/protocol";
import type { UnsealedHeader } from "../execute/block-run.ts";
import type { AttributesFault } from "../api.ts";
import { describeFault } from "../faults.ts";
import { readGasRefunds } from "../validation/gas-refunds.ts";

export interface AttributesProblem {
  readonly fault: AttributesFault;
  readonly reason: string;
}

const MAX_GAS_LIMIT = 2n ** 63n - 1n;
const GAS_LIMIT_BOUND_DIVISOR = 1024n;

/**
 * Checks payload attributes against the requirements of the fork.
 * Spec: docs/protocol/01-execution.md#payload-attributes-and-payload-id, docs/protocol/04-rpc.md#payload-attributes-json
 */
export function checkAttributes(rules: BlockRules, parent: Header, attributes: PayloadAttributes): AttributesProblem | undefined {
  const problem = (fault: AttributesFault, reason: string): AttributesProblem => ({ fault, reason });
  const fork = rules.op ?? rules.evm;
  const timestamp = exactTimestamp(attributes);
  const parentTimestamp = exactTimestamp(parent);
  if (timestamp <= parentTimestamp) {
    return problem("timestamp-not-after-head", `timestamp ${timestamp} is not after the head's ${parentTimestamp}`);
  }
  const { hasWithdrawals, hasBeaconRoot } = rules;
  if (hasWithdrawals && attributes.withdrawals === undefined)
    return problem("missing-withdrawals", `withdrawals are required in ${fork}`);
  if (!hasWithdrawals && attributes.withdrawals !== undefined) {
    return problem("unexpected-withdrawals", `withdrawals do not exist in ${fork}`);
  }
  if (hasBeaconRoot && attributes.parentBeaconBlockRoot === undefined) {
    return problem("missing-beacon-root", `parentBeaconBlockRoot is required in ${fork}`);
  }
  if (!hasBeaconRoot && attributes.parentBeaconBlockRoot !== undefined) {
    return problem("unexpected-beacon-root", `parentBeaconBlockRoot does not exist in ${fork}`);
  }
  if (attributes.gasLimit !== undefined && attributes.gasLimit > MAX_GAS_LIMIT) {
    return problem("gas-limit-too-large", `gasLimit ${attributes.gasLimit} is above 2^63 - 1`);
  }
  if (rules.op === undefined) return undefined;
  if (attributes.withdrawals !== undefined && attributes.withdrawals.length > 0) {
    return problem("withdrawals-not-empty", "withdrawals must be an empty list");
  }
  if (attributes.gasLimit === undefined) return problem("missing-gas-limit", "gasLimit is required");
  return checkFeeParameters(rules.extraDataVersion, fork, attributes);
}

function checkFeeParameters(
  extraDataVersion: ExtraDataVersion | undefined,
  fork: string,
  { eip1559Params, minBaseFee }: PayloadAttributes,
): AttributesProblem | undefined {
  if (eip1559Params === undefined) {
    if (extraDataVersion !== undefined) return { fault: "missing-eip1559-params", reason: `eip1559Params is required in ${fork}` };
  } else {
    if (extraDataVersion === undefined) return { fault: "unexpected-eip1559-params", reason: `eip1559Params does not exist in ${fork}` };
    if (eip1559Params.length !== 8) return { fault: "eip1559-params-length", reason: "eip1559Params must have 8 bytes" };
    const { denominator, elasticity } = decodeEip1559Params(eip1559Params);
    if (denominator === 0 && elasticity !== 0)
      return { fault: "eip1559-denominator-zero", reason: "eip1559Params: denominator is 0" };
    if (elasticity === 0 && denominator !== 0)
      return { fault: "eip1559-elasticity-zero", reason: "eip1559Params: elasticity is 0" };
  }
  const needsMinBaseFee = hasMinBaseFee(extraDataVersion);
  if (needsMinBaseFee && minBaseFee === undefined) return { fault: "missing-min-base-fee", reason: `minBaseFee is required in ${fork}` };
  if (!needsMinBaseFee && minBaseFee !== undefined)
    return { fault: "unexpected-min-base-fee", reason: `minBaseFee does not exist in ${fork}` };
  return undefined;
}

/** The header of the block to build, as far as it is known before execution. The attributes must have been checked. */
export function headerOfAttributes(
  config: ChainConfig,
  rules: BlockRules,
  parent: Header,
  parentHash: Uint8Array,
  attributes: PayloadAttributes,
  desiredGasLimit: bigint,
): UnsealedHeader & Pick<Header, "extraData"> {
  const { timestamp } = attributes;
  return {
    parentHash,
    beneficiary: attributes.suggestedFeeRecipient,
    difficulty: 0n,
    ...positionFields(BigInt(childNumber(parent)), BigInt(exactTimestamp(attributes))),
    gasLimit: attributes.gasLimit ?? nextGasLimit(parent.gasLimit, desiredGasLimit),
    mixHash: attributes.prevRandao,
    baseFeePerGas: nextBaseFee(config, parent, timestamp),
    extraData: extraDataOf(config, attributes),
    ...(rules.hasBlobGas && {
      excessBlobGas: rules.op === undefined ? nextExcessBlobGas(config, parent, timestamp) : 0n,
    }),
    ...(rules.hasBeaconRoot && { parentBeaconBlockRoot: attributes.parentBeaconBlockRoot }),
  };
}

/** Empty before Holocene, and on Ethereum chains. */
function extraDataOf(config: ChainConfig, attributes: PayloadAttributes): Uint8Array {
  const { eip1559Params, minBaseFee, timestamp } = attributes;
  if (config.optimism === undefined || eip1559Params === undefined) return EMPTY_BYTES;
  return extraDataFromAttributes(eip1559Params, chainEip1559Params(config.optimism, timestamp), minBaseFee);
}

/** Ethereum: moves as far towards the desired limit as the 1/1024 rule permits. */
function nextGasLimit(parentGasLimit: bigint, desired: bigint): bigint {
  const step = parentGasLimit / GAS_LIMIT_BOUND_DIVISOR - 1n;
  if (desired > parentGasLimit) return parentGasLimit + step < desired ? parentGasLimit + step : desired;
  return parentGasLimit - step > desired ? parentGasLimit - step : desired;
}

/**
 * @param known the decoded transactions of the attributes, if available
 * @returns the forced transactions, or the reason why they are invalid; on an OP Stack chain, the first must be the L1 attributes
 * deposit
 */
export function decodeForcedTransactions(
  rules: BlockRules,
  attributes: PayloadAttributes,
  known?: readonly Transaction[],
):
  | { readonly kind: "decoded"; readonly transactions: readonly Transaction[] }
  | { readonly kind: "invalid"; readonly problem: AttributesProblem } {
  const decoded: Transaction[] = [];
  if (known === undefined) {
    for (const [index, encoded] of (attributes.transactions ?? []).entries()) {
      try {
        decoded.push(decodeTransaction(encoded));
      } catch (error) {
        if (!isCodedError(error, "tx/")) throw error;
        const reason = `transaction ${index} is not valid: ${error.message}`;
        return { kind: "invalid", problem: { fault: "transaction-undecodable", reason } };
      }
    }
  }
  const transactions = known ?? decoded;
  const [first] = transactions;
  if (rules.op !== undefined && !(first?.type === 0x7e && isL1AttributesDeposit(first))) {
    return { kind: "invalid", problem: { fault: "missing-l1-attributes", reason: "missing L1 attributes deposit transaction" } };
  }
  return { kind: "decoded", transactions };
}

/** The gas refunds of the forced transactions, or why they are invalid. Before the fork of post-exec transactions there are none. */
export function gasRefundsOfAttributes(
  rules: BlockRules,
  header: Pick<Header, "number" | "exact">,
  { noTxPool }: PayloadAttributes,
  transactions: readonly Transaction[],
):
  | { readonly kind: "read"; readonly refunds: GasRefunds | undefined }
  | { readonly kind: "invalid"; readonly problem: AttributesProblem } {
  const problem = (reason: string) =>
    ({ kind: "invalid", problem: { fault: "transaction-invalid", reason: `the post-exec transaction is not valid: ${reason}` } }) as const;
  if (!rules.acceptsGasRefunds) return { kind: "read", refunds: undefined };
  const read = readGasRefunds(header, transactions);
  if (read.kind === "invalid") return problem(describeFault(read.fault));
  if (transactions.at(-1)?.type === 0x7d && !noTxPool) return problem("it must be the last transaction, set noTxPool");
  return read;
}

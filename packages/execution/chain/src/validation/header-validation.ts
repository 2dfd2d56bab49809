import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  equalBytes,
  isCodedError,
  isZeroBytes,
} from "@rnode/primitives";
import {
  assertEip1559ExtraData,
  type BlockRules,
  type ChainConfig,
  childNumber,
  exactNumber,
  exactTimestamp,
  GAS_PER_BLOB,
  type Header,
  nextBaseFee,
  nextExcessBlobGas,
} from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";
import { checkDaoExtraData } from "./dao-fork.ts";
import { expectedDifficulty } from "./difficulty.ts";

/** Gas must fit into a signed 64-bit integer. */
const MAX_GAS_LIMIT = 2n ** 63n - 1n;
const MIN_GAS_LIMIT = 5000n;
const GAS_LIMIT_BOUND_DIVISOR = 1024n;
const MAX_EXTRA_DATA_BYTES = 32;

/**
 * Checks a header against its parent. What depends on execution is checked later.
 * Spec: docs/protocol/01-execution.md#header-and-body-validity
 */
export function checkHeader(config: ChainConfig, rules: BlockRules, parent: Header, header: Header): BlockFault | undefined {
  const number = exactNumber(header);
  const expectedNumber = childNumber(parent);
  if (number !== expectedNumber) return blockFault("number-not-consecutive", { expected: expectedNumber, got: number });
  const timestamp = exactTimestamp(header);
  if (timestamp <= exactTimestamp(parent)) {
    return blockFault("timestamp-not-after-parent", { parent: exactTimestamp(parent), got: timestamp });
  }
  if (header.gasUsed > header.gasLimit) {
    return blockFault("gas-used-above-limit", { gasUsed: header.gasUsed, gasLimit: header.gasLimit });
  }
  return (
    checkGasLimit(rules, parent, header) ??
    checkExtraData(config, rules, header) ??
    checkSeal(config, rules, parent, header) ??
    checkBaseFee(config, rules, parent, header) ??
    checkForkFields(config, rules, parent, header)
  );
}

function checkGasLimit(rules: BlockRules, parent: Header, header: Header): BlockFault | undefined {
  const { gasLimit } = header;
  if (gasLimit > MAX_GAS_LIMIT) return blockFault("gas-limit-out-of-bounds", { gasLimit });
  if (rules.op !== undefined) return undefined; // the attributes set it, without a bound
  // EIP-1559: the first block with a base fee counts from twice its parent's limit.
  const isFirstWithBaseFee = rules.hasBaseFee && parent.baseFeePerGas === undefined;
  const reference = isFirstWithBaseFee ? parent.gasLimit * 2n : parent.gasLimit;
  const difference = gasLimit > reference ? gasLimit - reference : reference - gasLimit;
  if (difference >= reference / GAS_LIMIT_BOUND_DIVISOR || gasLimit < MIN_GAS_LIMIT) {
    return blockFault("gas-limit-out-of-bounds", { parent: reference, got: gasLimit });
  }
  return undefined;
}

function checkExtraData(config: ChainConfig, rules: BlockRules, header: Header): BlockFault | undefined {
  const { extraData } = header;
  if (extraData.length > MAX_EXTRA_DATA_BYTES) return blockFault("extra-data-too-long", { bytes: extraData.length });
  if (rules.op === undefined) return checkDaoExtraData(config, header);
  if (rules.extraDataVersion === undefined) {
    return extraData.length === 0 ? undefined : blockFault("extra-data-form", { fork: rules.op, extraData: bytesToHex(extraData) });
  }
  try {
    assertEip1559ExtraData(extraData, rules.extraDataVersion);
    return undefined;
  } catch (error) {
    if (!isCodedError(error, "extra-data/")) throw error;
    return blockFault("extra-data-form", { fork: rules.op, extraData: bytesToHex(extraData), reason: error.message });
  }
}

/** The proof of work itself is not verified. */
function checkSeal(config: ChainConfig, rules: BlockRules, parent: Header, header: Header): BlockFault | undefined {
  if (!rules.isPostMerge) {
    const expected = expectedDifficulty(config, rules, parent, exactTimestamp(header));
    return header.difficulty === expected ? undefined : blockFault("difficulty-mismatch", { expected, got: header.difficulty });
  }
  if (header.difficulty !== 0n) return blockFault("difficulty-mismatch", { expected: 0, got: header.difficulty });
  if (!isZeroBytes(header.nonce)) return blockFault("nonce-not-zero", { nonce: bytesToHex(header.nonce) });
  if (!equalBytes(header.ommersHash, EMPTY_OMMERS_HASH)) {
    return blockFault("ommers-not-empty", { ommersHash: bytesToHex(header.ommersHash) });
  }
  return undefined;
}

function checkBaseFee(config: ChainConfig, rules: BlockRules, parent: Header, header: Header): BlockFault | undefined {
  if ((header.baseFeePerGas !== undefined) !== rules.hasBaseFee) return blockFault("base-fee-presence", { fork: rules.evm });
  if (header.baseFeePerGas === undefined) return undefined;
  const expected = nextBaseFee(config, parent, header.timestamp);
  if (header.baseFeePerGas !== expected) return blockFault("base-fee-mismatch", { expected, got: header.baseFeePerGas });
  return undefined;
}

/** A field that a fork adds must be present from the fork on, and absent before. */
function checkForkFields(config: ChainConfig, rules: BlockRules, parent: Header, header: Header): BlockFault | undefined {
  const { hasWithdrawals, hasBeaconRoot, hasBlobGas, hasExecutionRequests } = rules;
  if ((header.withdrawalsRoot !== undefined) !== hasWithdrawals)
    return blockFault("withdrawals-root-presence", { fork: rules.evm });
  if ((header.parentBeaconBlockRoot !== undefined) !== hasBeaconRoot)
    return blockFault("parent-beacon-root-presence", { fork: rules.evm });
  if ((header.requestsHash !== undefined) !== hasExecutionRequests)
    return blockFault("requests-hash-presence", { fork: rules.evm });
  // EIP-7928 and EIP-7843: only L1 has them, no chain that is executed here does
  if (header.blockAccessListHash !== undefined || header.slotNumber !== undefined) {
    return blockFault("block-access-list-presence", {
      fork: rules.evm,
      expected: "neither blockAccessListHash nor slotNumber",
      ...(header.blockAccessListHash !== undefined && { blockAccessListHash: bytesToHex(header.blockAccessListHash) }),
      ...(header.slotNumber !== undefined && { slotNumber: header.slotNumber }),
    });
  }
  if ((header.blobGasUsed !== undefined) !== hasBlobGas || (header.excessBlobGas !== undefined) !== hasBlobGas) {
    return blockFault("blob-gas-presence", { fork: rules.evm });
  }
  if (rules.op !== undefined) return checkOpForkFields(rules, header);
  if (hasBlobGas) {
    const expected = nextExcessBlobGas(config, parent, header.timestamp);
    if (header.excessBlobGas !== expected) {
      return blockFault("excess-blob-gas-mismatch", { expected, got: header.excessBlobGas! });
    }
    const maximum = BigInt(rules.blobParams?.max ?? 0) * GAS_PER_BLOB;
    if (header.blobGasUsed! > maximum) return blockFault("blob-gas-above-maximum", { maximum, got: header.blobGasUsed! });
  }
  return undefined;
}

function checkOpForkFields(rules: BlockRules, header: Header): BlockFault | undefined {
  if (header.excessBlobGas !== undefined && header.excessBlobGas !== 0n) {
    return blockFault("excess-blob-gas-mismatch", { expected: 0, got: header.excessBlobGas });
  }
  if (header.blobGasUsed !== undefined) {
    if (!rules.hasDaFootprint) {
      if (header.blobGasUsed !== 0n) return blockFault("blob-gas-used-mismatch", { expected: 0, got: header.blobGasUsed });
    } else if (header.blobGasUsed > header.gasLimit) {
      return blockFault("da-footprint-above-gas-limit", { daFootprint: header.blobGasUsed, gasLimit: header.gasLimit });
    }
  }
  const { withdrawalsRoot, requestsHash } = header;
  if (withdrawalsRoot !== undefined && !rules.hasMessagePasserRoot && !equalBytes(withdrawalsRoot, EMPTY_TRIE_ROOT)) {
    return blockFault("withdrawals-root-mismatch", {
      expected: bytesToHex(EMPTY_TRIE_ROOT),
      got: bytesToHex(withdrawalsRoot),
    });
  }
  if (requestsHash !== undefined && !equalBytes(requestsHash, EMPTY_REQUESTS_HASH)) {
    return blockFault("requests-hash-mismatch", { expected: bytesToHex(EMPTY_REQUESTS_HASH), got: bytesToHex(requestsHash) });
  }
  return undefined;
}

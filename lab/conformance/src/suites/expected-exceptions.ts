/*
 * `expectException` of the public tests, compared with rnode's reasons. A reason is the text of a refusal; it contains the code
 * of the rule. Spec: execution-spec-tests, ethereum_test_exceptions
 */

/** Undecodable blocks and transactions of a payload. */
const UNDECODABLE = ["tx/", "rlp/", "header/", "block/", "hex/", "invalid transaction:", "not encodable"] as const;
const WRONG_TYPE = ["type-not-supported", "transaction-type-not-allowed", ...UNDECODABLE] as const;
const BAD_SIGNATURE = ["transaction-signature-invalid", ...UNDECODABLE] as const;
const PARIS_BLOCK = ["difficulty-mismatch", "nonce-not-zero", "ommers-not-empty", "ommer-invalid", "terminal-difficulty"] as const;

/** By name without its class: parts of our reasons, of which one must occur. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  // TransactionException
  INSUFFICIENT_ACCOUNT_FUNDS: ["insufficient-funds"],
  INSUFFICIENT_MAX_FEE_PER_GAS: ["fee-cap-below-base-fee"],
  INSUFFICIENT_MAX_FEE_PER_BLOB_GAS: ["blob-fee-cap-too-low"],
  PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS: ["tip-above-fee-cap"],
  PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS_2: ["tip-above-fee-cap"],
  PRIORITY_OVERFLOW: UNDECODABLE,
  GAS_ALLOWANCE_EXCEEDED: ["gas-limit-exceeds-block"],
  GAS_LIMIT_EXCEEDS_MAXIMUM: ["gas-limit-exceeds-cap"],
  GASLIMIT_OVERFLOW: ["gas-overflow", "gas-limit-exceeds-block", ...UNDECODABLE],
  GASLIMIT_PRICE_PRODUCT_OVERFLOW: ["gas-overflow", "insufficient-funds"],
  GASPRICE_OVERFLOW: ["gas-overflow", "insufficient-funds", ...UNDECODABLE],
  VALUE_OVERFLOW: ["insufficient-funds", ...UNDECODABLE],
  ADDRESS_TOO_SHORT: UNDECODABLE,
  ADDRESS_TOO_LONG: UNDECODABLE,
  NONCE_OVERFLOW: ["nonce-max", ...UNDECODABLE],
  NONCE_TOO_BIG: ["nonce-max", "nonce-too-high", ...UNDECODABLE],
  NONCE_IS_MAX: ["nonce-max"],
  NONCE_MISMATCH_TOO_LOW: ["nonce-too-low"],
  NONCE_MISMATCH_TOO_HIGH: ["nonce-too-high"],
  INVALID_CHAINID: ["wrong-chain-id", ...BAD_SIGNATURE],
  // before EIP-155, a v that names a chain is no valid v
  INVALID_SIGNATURE_VRS: ["wrong-chain-id", ...BAD_SIGNATURE],
  EC_RECOVERY_FAIL: BAD_SIGNATURE,
  SENDER_NOT_EOA: ["sender-not-eoa"],
  INTRINSIC_GAS_TOO_LOW: ["intrinsic-gas-too-low", "floor-data-gas-too-high"],
  INTRINSIC_GAS_BELOW_FLOOR_GAS_COST: ["floor-data-gas-too-high", "intrinsic-gas-too-low"],
  INITCODE_SIZE_EXCEEDED: ["initcode-too-large"],
  TYPE_NOT_SUPPORTED: WRONG_TYPE,
  TYPE_1_TX_PRE_FORK: WRONG_TYPE,
  TYPE_2_TX_PRE_FORK: WRONG_TYPE,
  TYPE_3_TX_PRE_FORK: WRONG_TYPE,
  TYPE_4_TX_PRE_FORK: WRONG_TYPE,
  TYPE_3_TX_ZERO_BLOBS: ["no-blobs"],
  TYPE_3_TX_ZERO_BLOBS_PRE_FORK: ["no-blobs", ...WRONG_TYPE],
  TYPE_3_TX_BLOB_COUNT_EXCEEDED: ["too-many-blobs"],
  TYPE_3_TX_MAX_BLOB_GAS_ALLOWANCE_EXCEEDED: ["too-many-blobs", "blob-gas-above-maximum"],
  TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH: ["bad-blob-version"],
  TYPE_3_TX_CONTRACT_CREATION: ["blob-creates-contract", ...UNDECODABLE],
  TYPE_3_TX_WITH_FULL_BLOBS: UNDECODABLE,
  TYPE_4_EMPTY_AUTHORIZATION_LIST: ["empty-authorization-list"],
  TYPE_4_TX_CONTRACT_CREATION: ["set-code-creates-contract", ...UNDECODABLE],
  TYPE_4_INVALID_AUTHORITY_SIGNATURE: UNDECODABLE,
  TYPE_4_INVALID_AUTHORITY_SIGNATURE_S_TOO_HIGH: UNDECODABLE,
  TYPE_4_INVALID_AUTHORIZATION_FORMAT: UNDECODABLE,
  RLP_INVALID_VALUE: UNDECODABLE,

  // BlockException
  TOO_MANY_UNCLES: ["ommer-invalid", "ommers-not-empty"],
  UNCLE_IN_CHAIN: ["ommer-invalid"],
  UNCLE_IS_ANCESTOR: ["ommer-invalid"],
  UNCLE_IS_BROTHER: ["ommer-invalid"],
  UNCLE_PARENT_INCORRECT: ["ommer-invalid"],
  UNCLE_UNKNOWN_PARENT: ["ommer-invalid"],
  EXTRA_DATA_TOO_BIG: ["extra-data-too-long", ...UNDECODABLE],
  EXTRA_DATA_INVALID_DAO: ["dao-extra-data"],
  UNKNOWN_PARENT: ["unknown parent"],
  UNKNOWN_PARENT_ZERO: ["unknown parent"],
  GASLIMIT_TOO_BIG: ["gas-limit-out-of-bounds", ...UNDECODABLE],
  INVALID_GASLIMIT: ["gas-limit-out-of-bounds"],
  INVALID_BASEFEE_PER_GAS: ["base-fee-mismatch", "base-fee-presence"],
  INVALID_BLOCK_NUMBER: ["number-not-consecutive"],
  INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT: ["timestamp-not-after-parent"],
  INVALID_DIFFICULTY: ["difficulty-mismatch"],
  INVALID_GAS_USED: ["gas-used-mismatch"],
  INVALID_GAS_USED_ABOVE_LIMIT: ["gas-used-above-limit"],
  GAS_USED_OVERFLOW: ["gas-limit-exceeds-block", "gas-used-above-limit"],
  INVALID_STATE_ROOT: ["state-root-mismatch"],
  INVALID_RECEIPTS_ROOT: ["receipts-root-mismatch"],
  INVALID_TRANSACTIONS_ROOT: ["transactions-root-mismatch"],
  INVALID_UNCLES_HASH: ["ommers-hash-mismatch", "ommers-not-empty"],
  INVALID_WITHDRAWALS_ROOT: ["withdrawals-root-mismatch"],
  INVALID_LOG_BLOOM: ["logs-bloom-mismatch"],
  INCORRECT_BLOB_GAS_USED: ["blob-gas-used-mismatch"],
  BLOB_GAS_USED_ABOVE_LIMIT: ["blob-gas-above-maximum"],
  INCORRECT_EXCESS_BLOB_GAS: ["excess-blob-gas-mismatch"],
  INVALID_VERSIONED_HASHES: ["invalid versionedHashes"],
  INCORRECT_BLOCK_FORMAT: ["-presence", "-mismatch", "blockhash mismatch", ...UNDECODABLE],
  INVALID_BLOCK_HASH: ["blockhash mismatch"],
  INVALID_REQUESTS: ["requests-hash-mismatch", "request-invalid", "requests-hash-presence", "blockhash mismatch"],
  INVALID_DEPOSIT_EVENT_LAYOUT: ["request-invalid"],
  SYSTEM_CONTRACT_EMPTY: ["request-invalid"],
  SYSTEM_CONTRACT_CALL_FAILED: ["request-invalid"],
  RLP_BLOCK_LIMIT_EXCEEDED: ["block-too-large"],
  RLP_STRUCTURES_ENCODING: UNDECODABLE,
  RLP_WITHDRAWALS_NOT_READ: ["withdrawals-presence", ...UNDECODABLE],
  RLP_INVALID_FIELD_OVERFLOW_64: UNDECODABLE,
  RLP_INVALID_ADDRESS: UNDECODABLE,
  IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS: PARIS_BLOCK,
  IMPORT_IMPOSSIBLE_DIFFICULTY_OVER_PARIS: PARIS_BLOCK,
  IMPORT_IMPOSSIBLE_LEGACY: PARIS_BLOCK,
  IMPORT_IMPOSSIBLE_LEGACY_WRONG_PARENT: ["unknown parent", ...PARIS_BLOCK],
  IMPORT_IMPOSSIBLE_LONDON_WRONG_PARENT: ["unknown parent", ...PARIS_BLOCK],
  IMPORT_IMPOSSIBLE_PARIS_WRONG_POW: ["unknown parent", ...PARIS_BLOCK],
  IMPORT_IMPOSSIBLE_PARIS_WRONG_POS: ["unknown parent", ...PARIS_BLOCK],
  IMPORT_IMPOSSIBLE_SHANGHAI: ["unknown parent", ...PARIS_BLOCK],
};

/** The alternatives of an `expectException`: `TransactionException.A|BlockException.B`, or a list of them. */
const alternativesOf = (expected: string | readonly string[]): string[] =>
  (typeof expected === "string" ? expected.split("|") : [...expected]).map((name) => name.trim().replace(/^\w+\./, ""));

/**
 * Compares the reason of a refusal with the expected exception.
 *
 * @returns `other`: we refused for another reason; `unknown`: only names that this table does not have, so nothing was compared
 */
export function compareException(expected: string | readonly string[], reason: string): "same" | "other" | "unknown" {
  let isKnown = false;
  for (const name of alternativesOf(expected)) {
    const parts = Object.hasOwn(REASONS, name) ? REASONS[name] : undefined;
    if (parts === undefined) continue;
    isKnown = true;
    if (parts.some((part) => reason.includes(part))) return "same";
  }
  // A mismatch with one known alternative among unknown ones proves nothing.
  return isKnown && alternativesOf(expected).every((name) => Object.hasOwn(REASONS, name)) ? "other" : "unknown";
}

/** The error in a refusal; `undefined` if it is right, or if nothing can be compared, which is passed to `note`. */
export function wrongRefusal(
  expected: string | readonly string[],
  reason: string,
  note: (exception: string) => void,
): string | undefined {
  const names = alternativesOf(expected).join("|");
  const verdict = compareException(expected, reason);
  if (verdict === "unknown") note(names);
  return verdict === "other" ? `refused (${reason}), expected ${names}` : undefined;
}

import { bytesToHex } from "@rnode/primitives";

/**
 * Rules a block can break. The name goes into `validationError`.
 * Spec: docs/protocol/01-execution.md#header-and-body-validity, yellow paper, EIPs of each fork
 */
export type BlockRule =
  | "parent-invalid"
  | "number-not-consecutive"
  | "timestamp-not-after-parent"
  | "gas-limit-out-of-bounds"
  | "gas-used-above-limit"
  | "base-fee-mismatch"
  | "base-fee-presence"
  | "extra-data-too-long"
  | "extra-data-form"
  | "dao-extra-data"
  | "difficulty-mismatch"
  | "terminal-difficulty-reached"
  | "terminal-difficulty-not-reached"
  | "nonce-not-zero"
  | "ommers-not-empty"
  | "ommers-hash-mismatch"
  | "ommer-invalid"
  | "withdrawals-presence"
  | "withdrawals-not-empty"
  | "withdrawals-root-presence"
  | "withdrawals-root-mismatch"
  | "blob-gas-presence"
  | "blob-gas-used-mismatch"
  | "blob-gas-above-maximum"
  | "excess-blob-gas-mismatch"
  | "parent-beacon-root-presence"
  | "requests-hash-presence"
  | "requests-hash-mismatch"
  | "request-invalid"
  | "transactions-root-mismatch"
  | "transaction-type-not-allowed"
  | "transaction-signature-invalid"
  | "transaction-rejected"
  | "da-footprint-above-gas-limit"
  | "block-too-large"
  | "gas-used-mismatch"
  | "logs-bloom-mismatch"
  | "receipts-root-mismatch"
  | "state-root-mismatch";

/** A broken rule and small plain data that says where. */
export interface BlockFault {
  readonly rule: BlockRule;
  readonly data: Readonly<Record<string, string | number | bigint>>;
}

export const blockFault = (rule: BlockRule, data: BlockFault["data"] = {}): BlockFault => ({ rule, data });

/** A commitment of the header that is not what the body or the execution gives. */
export const mismatch = (rule: BlockRule, computed: Uint8Array, inHeader: Uint8Array): BlockFault =>
  blockFault(rule, { computed: bytesToHex(computed), header: bytesToHex(inHeader) });

/** One line: the rule and its data. */
export function describeFault(fault: BlockFault): string {
  const fields = Object.entries(fault.data).map(([key, value]) => ` ${key}=${value}`);
  return fault.rule + fields.join("");
}

export type ChainErrorCode =
  /** the store holds another chain's genesis */
  | "chain/other-genesis"
  /** the store has no genesis block yet */
  | "chain/no-genesis"
  /** the genesis file gives another block than the named network has */
  | "chain/genesis-mismatch"
  /** a witness or block file is not of the expected form */
  | "chain/bad-block-file"
  /** a witness lacks bytecode that execution reads */
  | "chain/missing-code"
  /** the block that the attributes ask for fails in its post-processing (a system contract is missing) */
  | "chain/unbuildable";

import { bytesToHex } from "@rnode/primitives";
import type { BlockFault, BlockRule } from "./api.ts";

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
  | "chain/unbuildable"
  /** blocks are being imported already */
  | "chain/importing"
  /** the chain was closed before all blocks were imported */
  | "chain/closed";

import { bytesToHex, codedErrors } from "@rnode/primitives";
import type { BlockFault, BlockRule } from "./api.ts";

export const blockFault = (rule: BlockRule, data: BlockFault["data"] = {}): BlockFault => ({ rule, data });

/** A commitment in the header that does not match the body or the results of execution. */
export const mismatch = (rule: BlockRule, computed: Uint8Array, inHeader: Uint8Array): BlockFault =>
  blockFault(rule, { computed: bytesToHex(computed), header: bytesToHex(inHeader) });

/** One line with the rule and its data. */
export function describeFault(fault: BlockFault): string {
  const fields = Object.entries(fault.data).map(([key, value]) => ` ${key}=${value}`);
  return fault.rule + fields.join("");
}

export type ChainErrorCode =
  /** the store begins with the genesis of another chain */
  | "chain/other-genesis"
  /** the genesis block has a number that the database cannot hold */
  | "chain/genesis-number-too-large"
  /** the store has no genesis block yet */
  | "chain/no-genesis"
  /** a witness or block file has an unexpected form */
  | "chain/bad-block-file"
  /** the node's chain is not one of the known networks */
  | "chain/unknown-network"
  /** the node does not have the requested block */
  | "chain/no-block"
  /** a witness lacks bytecode that execution needs */
  | "chain/missing-code"
  /** the requested block fails in its post-processing (a system contract is missing) */
  | "chain/unbuildable"
  /** the time limit of an execution has passed; another attempt gets twice the time. Temporary */
  | "chain/execution-too-long"
  /** rows that belong together are not all in a state from elsewhere */
  | "chain/incomplete-state"
  /** a state from elsewhere is not the one that is wanted */
  | "chain/wrong-state"
  /** another import is in progress */
  | "chain/importing"
  /** the chain was closed before all blocks were imported */
  | "chain/closed";

export class ChainError extends codedErrors<ChainErrorCode>({
  "chain/other-genesis":
    "the database holds another chain: its genesis block is {database}, the one of --chain is {configured}; give another --datadir, or the chain of this one",
  "chain/genesis-number-too-large":
    "the genesis block has number {number}, the database holds numbers up to {maximum}: set a lower number in the genesis file",
  "chain/no-genesis": "the database has no genesis block yet",
  "chain/bad-block-file": "the file does not have the expected form: {reason}",
  "chain/unknown-network": "the node's chain is none of the known networks; say which it is",
  "chain/no-block": "the node has no block {block}",
  "chain/missing-code": "the witness lacks the code with hash {codeHash}",
  "chain/unbuildable": "the block cannot be built: {reason}",
  "chain/execution-too-long":
    "the execution of block {block} was stopped after {limitSec} s (--engine.max-execution-time); the next attempt may begin in {pauseSec} s",
  "chain/incomplete-state": "the state is incomplete: {reason}",
  "chain/wrong-state": "the state is not that of the block: {reason}",
  "chain/importing": "another import is under way",
  "chain/closed": "the chain was closed before all blocks were imported",
}) {}

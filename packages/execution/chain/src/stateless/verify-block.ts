import { bytesToHex, equalBytes, isCodedError, keccak256 } from "@rnode/primitives";
import { type ChainConfig, decodeHeader } from "@rnode/protocol";
import { executeBlock } from "../execute/block-execution.ts";
import { create2DeployerCodeIn } from "../execute/create2-deployer.ts";
import { describeFault } from "../faults.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import { plainSenders } from "../senders/find-senders.ts";
import type { StatelessOptions } from "./stateless.ts";
import { type Witness, witnessState } from "./witness-state.ts";

/** A block with the witness of its reads. */
export interface WitnessedBlock {
  readonly config: ChainConfig;
  readonly block: PreparedBlock;
  /** its headers include the parent */
  readonly witness: Witness;
}

export type BlockVerification =
  /** every rule holds: the header's roots, gas and hash are those that follow from the parent's state */
  { readonly kind: "valid" } | { readonly kind: "invalid"; readonly reason: string };

/** Executes a block on the state of its witness, and checks everything about it that a node checks. Nothing in the witness is trusted. */
export function verifyBlock(
  { config, block, witness }: WitnessedBlock,
  { engine, create2DeployerCode }: StatelessOptions,
): BlockVerification {
  const { parentHash } = block.header;
  const encodedParent = witness.headers.find((rlp) => equalBytes(keccak256(rlp), parentHash));
  if (encodedParent === undefined) {
    return { kind: "invalid", reason: `the witness has no header ${bytesToHex(parentHash)}, the parent` };
  }
  try {
    const parent = witnessState(decodeHeader(encodedParent), parentHash, witness);
    const context = {
      config,
      engine,
      senders: plainSenders(),
      create2DeployerCode: create2DeployerCodeIn(witness.codes, create2DeployerCode),
    };
    const verdict = executeBlock(context, parent, block);
    return verdict.kind === "valid" ? { kind: "valid" } : { kind: "invalid", reason: describeFault(verdict.fault) };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return { kind: "invalid", reason: error.message };
  }
}

import { bytesToHex, equalBytes, keccak256 } from "@rnode/primitives";
import { type ChainConfig, decodeHeader } from "@rnode/protocol";
import { type ExecutionContext, receiptsRoot, runTransactions } from "../execute/block-execution.ts";
import { create2DeployerCodeIn } from "../execute/create2-deployer.ts";
import { newEngine } from "../execute/engine-module.ts";
import type { ExecutionLimit } from "../execute/execution-limit.ts";
import { describeFault } from "../faults.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import type { SenderLookup } from "../senders/find-senders.ts";
import { stateUpdate } from "../state-roots/state-root.ts";
import { type Witness, witnessState } from "./witness-state.ts";

export type StatelessVerdict =
  | { readonly kind: "valid"; readonly stateRoot: Uint8Array; readonly receiptsRoot: Uint8Array }
  | { readonly kind: "invalid"; readonly reason: string };

export interface StatelessSources {
  readonly config: ChainConfig;
  readonly senders: SenderLookup;
  readonly limit?: ExecutionLimit | undefined;
}

const invalid = (reason: string): StatelessVerdict => ({ kind: "invalid", reason });

/**
 * Executes a block on the state of a witness. Its state root and receipts root are computed, not compared, because the request
 * may omit them.
 *
 * @param witness the headers include the parent
 * @throws {CodedError} the witness is incomplete; chain/execution-too-long
 */
export function executePayloadStateless(
  { config, senders, limit }: StatelessSources,
  prepared: PreparedBlock,
  witness: Witness,
): StatelessVerdict {
  const { header } = prepared.block;
  const encodedParent = witness.headers.find((rlp) => equalBytes(keccak256(rlp), header.parentHash));
  if (encodedParent === undefined) return invalid(`the witness has no header ${bytesToHex(header.parentHash)}, the parent`);
  const parent = witnessState(decodeHeader(encodedParent), header.parentHash, witness);
  const context: ExecutionContext = {
    config,
    engine: newEngine(),
    senders,
    create2DeployerCode: create2DeployerCodeIn(witness.codes),
  };
  const run = () => runTransactions(context, parent, prepared);
  const ran = limit === undefined ? run() : limit.run(context.engine, prepared.hashHex, true, run);
  if (ran.kind === "invalid") return invalid(describeFault(ran.fault));
  const { result } = ran;
  if (result.gasUsed !== header.gasUsed) return invalid(`gas used: ${header.gasUsed} in the payload, ${result.gasUsed} computed`);
  if (!equalBytes(result.logsBloom, header.logsBloom)) return invalid("the payload's logs bloom is not that of its logs");
  const { stateRoot } = stateUpdate(parent.trie, result.changes);
  return { kind: "valid", stateRoot, receiptsRoot: receiptsRoot(result) };
}

import type { BlockExecution, EvmEngine, StateChanges, StateReader } from "@rnode/evm";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type BlockRules, type ChainConfig, encodeReceipts, type Header } from "@rnode/protocol";
import { orderedTrieRoot, type StateTrieUpdate } from "@rnode/trie";
import type { BlockFault } from "../api.ts";
import { blockFault, mismatch } from "../faults.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import type { SenderLookup } from "../senders/find-senders.ts";
import { beginLiveStateUpdate, type LiveTries } from "../state-roots/live-state-update.ts";
import { PackedUpdate } from "../state-roots/packed-update.ts";
import { messagePasserRoot, type ParentTrie, stateUpdate } from "../state-roots/state-root.ts";
import { checkBody, checkBodyBelongs } from "../validation/body-validation.ts";
import { readGasRefunds } from "../validation/gas-refunds.ts";
import { checkHeader } from "../validation/header-validation.ts";
import { checkMerge } from "../validation/merge.ts";
import { type AncestorSource, checkOmmers } from "../validation/ommers.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { BlockRun, type BlockRunResult, rejectionFault } from "./block-run.ts";
import type { ExecutedBlock } from "./executed-block.ts";
import { requestsHash } from "./requests.ts";

/** What execution needs in addition to the block and its parent. */
export interface ExecutionContext extends LiveTries {
  readonly config: ChainConfig;
  readonly engine: EvmEngine;
  readonly senders: SenderLookup;
  readonly create2DeployerCode: () => Uint8Array;
}

/** The parent, and the state after it. */
export interface ParentState {
  readonly header: Header;
  readonly hash: Uint8Array;
  readonly reader: StateReader;
  /** changes of the state that come before the child's own, as part of its state transition; default: none */
  readonly prelude?: ((execution: BlockExecution) => void) | undefined;
  readonly trie: ParentTrie;
  /** finds the ancestors that the ommers of proof-of-work blocks refer to */
  readonly ancestorOf: AncestorSource;
  /** total difficulty of the parent, which determines whether the merge is due; undefined: unknown, and not checked */
  readonly totalDifficulty: () => bigint | undefined;
}

export type ExecutionVerdict =
  | { readonly kind: "valid"; readonly executed: ExecutedBlock }
  | {
      readonly kind: "invalid";
      readonly fault: BlockFault;
      /** whether no block with this hash can be valid; false: only this body does not belong to the hash */
      readonly isFinal: boolean;
    };

const invalid = (fault: BlockFault): Extract<ExecutionVerdict, { kind: "invalid" }> => ({ kind: "invalid", fault, isFinal: true });

/** The outcome of an executed block that is right in everything except possibly the state roots. */
export interface BlockRunOutcome {
  readonly kind: "run";
  readonly rules: BlockRules;
  readonly senders: readonly Uint8Array[];
  readonly result: BlockRunResult;
  /** as encoded for the receipts root */
  readonly encodedReceipts: readonly Uint8Array[];
}

/** Executes a block whose parent is valid, and checks everything about it. */
export function executeBlock(
  context: ExecutionContext,
  parent: ParentState,
  block: PreparedBlock,
  started?: StartedRun,
): ExecutionVerdict {
  let updated: (() => StateTrieUpdate) | undefined;
  const onChanges = (changes: StateChanges): void => {
    updated = beginLiveStateUpdate(context, parent.trie, changes);
  };
  const outcome = runBlock(context, parent, block, onChanges, started);
  if (outcome.kind === "invalid") return outcome;
  const { rules, senders, result } = outcome;
  const update = updated!();
  const wrongRoot = checkRoots(rules, block.header, update, () => messagePasserRoot(parent.trie, update));
  if (wrongRoot !== undefined) return invalid(wrongRoot);
  return { kind: "valid", executed: executedBlock(block, senders, result, update) };
}

/** A run that has executed the first transactions of a block already. */
export interface StartedRun {
  readonly run: BlockRun;
}

/** `trie` is used only before Byzantium. */
type RunParent = Omit<ParentState, "trie"> & { readonly trie: ParentTrie | undefined };

/**
 * Like `executeBlock`, but without the state roots.
 *
 * @param onChanges called as soon as all transactions have been executed, before the results are compared with the header
 */
export function runBlock(
  context: ExecutionContext,
  parent: RunParent,
  prepared: PreparedBlock,
  onChanges?: (changes: StateChanges) => void,
  started?: StartedRun,
): BlockRunOutcome | Extract<ExecutionVerdict, { kind: "invalid" }> {
  const ran = runTransactions(context, parent, prepared, started);
  if (ran.kind === "invalid") return ran;
  const { rules, senders, result } = ran;
  onChanges?.(result.changes);
  const encodedReceipts = encodeReceipts(result.receipts);
  const cheap = checkResult(rules, prepared.block.header, result, encodedReceipts);
  if (cheap !== undefined) return invalid(cheap);
  return { kind: "run", rules, senders, result, encodedReceipts };
}

/** Executes a block whose parent is valid, and compares no results with its header. */
export function runTransactions(
  context: ExecutionContext,
  parent: RunParent,
  prepared: PreparedBlock,
  started?: StartedRun,
):
  | (Pick<BlockRunOutcome, "rules" | "senders" | "result"> & { readonly kind: "ran" })
  | Extract<ExecutionVerdict, { kind: "invalid" }> {
  const { config } = context;
  const { block, encodedTransactions: encoded } = prepared;
  const { header, transactions } = block;
  const rules = rulesOfBlock(config, header);
  const headerFault = checkHeader(config, rules, parent.header, header);
  if (headerFault !== undefined) return invalid(headerFault);
  const mergeFault = checkMerge(config, rules, parent, header);
  if (mergeFault !== undefined) return invalid(mergeFault);
  const foreignBody = checkBodyBelongs(rules, prepared);
  if (foreignBody !== undefined) return { kind: "invalid", fault: foreignBody, isFinal: false };
  const bodyFault = checkBody(config, rules, parent.header, block);
  if (bodyFault !== undefined) return invalid(bodyFault);
  const read = readGasRefunds(header, transactions);
  if (read.kind === "invalid") return invalid(read.fault);
  const ommerFault = checkOmmers(config, block, parent.ancestorOf);
  if (ommerFault !== undefined) return invalid(ommerFault);
  let { senders } = prepared;
  if (senders === undefined) {
    const recovered = context.senders.sendersOf(transactions, rules.allowsHighS);
    if (recovered.kind === "unrecoverable") {
      return invalid(blockFault("transaction-signature-invalid", { index: recovered.index, reason: recovered.reason }));
    }
    senders = recovered.senders;
  }
  const { trie } = parent;
  const run =
    started?.run ??
    new BlockRun({
      ...context,
      rules,
      parent: parent.header,
      header,
      reader: parent.reader,
      prelude: parent.prelude,
      intermediateRoot: trie && ((changes) => stateUpdate(trie, changes).stateRoot),
      gasRefunds: read.refunds,
    });
  for (let index = run.transactionCount; index < transactions.length; index++) {
    const applied = run.apply(transactions[index]!, senders[index]!, encoded[index]!);
    if (applied.kind === "rejected") return invalid(rejectionFault(index, applied));
  }
  const finished = run.finish(block.withdrawals, block.ommers);
  if (finished.kind === "invalid") return invalid(finished.fault);
  return { kind: "ran", rules, senders, result: finished.result };
}

export function executedBlock(
  prepared: PreparedBlock,
  senders: readonly Uint8Array[],
  result: BlockRunResult,
  update: StateTrieUpdate,
): ExecutedBlock {
  const { block, hash, hashHex, encodedHeader } = prepared;
  return {
    prepared,
    block,
    hash,
    hashHex,
    parentHashHex: bytesToHex(block.header.parentHash),
    encodedHeader,
    get encodedTransactions() {
      return prepared.encodedTransactions;
    },
    get transactionHashes() {
      return prepared.transactionHashes;
    },
    receipts: result.receipts,
    senders,
    changes: result.changes,
    storageRoots: update.storageRoots,
    get nodes() {
      return update.nodes; // PERF: they may stay packed until a commit needs them
    },
    packedNodesBytes: update instanceof PackedUpdate ? update.packedBytes : undefined,
    requests: result.requests,
    tipsWei: result.tipsWei,
  };
}

export const receiptsRoot = ({ receipts }: Pick<BlockRunResult, "receipts">): Uint8Array =>
  orderedTrieRoot(encodeReceipts(receipts));

/** Compares the results of execution, except for the state, with the header. */
function checkResult(
  rules: BlockRules,
  header: Header,
  result: BlockRunResult,
  encodedReceipts: readonly Uint8Array[],
): BlockFault | undefined {
  if (result.gasUsed !== header.gasUsed) {
    return blockFault("gas-used-mismatch", { computed: result.gasUsed, header: header.gasUsed });
  }
  const root = orderedTrieRoot(encodedReceipts);
  if (!equalBytes(root, header.receiptsRoot)) return mismatch("receipts-root-mismatch", root, header.receiptsRoot);
  if (!equalBytes(result.logsBloom, header.logsBloom)) {
    return blockFault("logs-bloom-mismatch", { number: header.number }); // the 256 bytes would tell a reader nothing
  }
  if (rules.op !== undefined) {
    if (rules.hasDaFootprint && result.daFootprint !== header.blobGasUsed) {
      return blockFault("blob-gas-used-mismatch", { computed: result.daFootprint, header: header.blobGasUsed ?? 0n });
    }
  } else if (header.requestsHash !== undefined) {
    const hash = requestsHash(result.requests);
    if (!equalBytes(hash, header.requestsHash)) return mismatch("requests-hash-mismatch", hash, header.requestsHash);
  }
  return undefined;
}

/** Compares the state roots with the header. @param withdrawalsRoot the message passer's storage root, needed from Isthmus on */
export function checkRoots(
  rules: BlockRules,
  header: Header,
  { stateRoot }: Pick<StateTrieUpdate, "stateRoot">,
  withdrawalsRoot: () => Uint8Array,
): BlockFault | undefined {
  if (!equalBytes(stateRoot, header.stateRoot)) return mismatch("state-root-mismatch", stateRoot, header.stateRoot);
  if (rules.hasMessagePasserRoot) {
    const root = withdrawalsRoot();
    if (header.withdrawalsRoot === undefined || !equalBytes(root, header.withdrawalsRoot)) {
      return mismatch("withdrawals-root-mismatch", root, header.withdrawalsRoot ?? new Uint8Array(0));
    }
  }
  return undefined;
}

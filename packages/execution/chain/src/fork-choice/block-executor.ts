import type { EvmEngine } from "@rnode/evm";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { PayloadStatusV1 } from "@rnode/protocol";
import type { ChainStoreReader } from "@rnode/storage";
import type { BadBlock, StoredBlock } from "../api.ts";
import type { ChainMetrics } from "../chain-metrics.ts";
import { type ExecutionContext, executeBlock, type ParentState, type StartedRun } from "../execute/block-execution.ts";
import type { ExecutedBlock } from "../execute/executed-block.ts";
import type { ExecutionLimit } from "../execute/execution-limit.ts";
import { blockFault } from "../faults.ts";
import { PreparedBlock } from "../prepared-block.ts";
import type { ReadAhead } from "../read-ahead/read-ahead.ts";
import { checkBodyBelongs } from "../validation/body-validation.ts";
import { rulesOfBlock } from "../validation/rules.ts";
import { BlockTree, type BlockTreeLimits } from "./block-tree.ts";
import { type Branch, Branches } from "./branches.ts";
import { isCanonicalBlock } from "./canonical-blocks.ts";
import { type InvalidBlock, InvalidBlocks } from "./invalid-blocks.ts";
import { invalidStatus, SYNCING, validStatus } from "./payload-status.ts";
import { RemovedBlocks } from "./removed-blocks.ts";

export interface BlockExecutorDeps {
  readonly context: ExecutionContext;
  readonly store: ChainStoreReader;
  readonly limit: ExecutionLimit;
  readonly metrics: ChainMetrics;
  readonly nowMs: () => number;
  readonly readAhead: ReadAhead | undefined;
  readonly parentStateOf: ((parent: ParentState) => ParentState) | undefined;
  /** a run of the first transactions of this block, on another engine */
  readonly startedRun: (block: PreparedBlock) => (StartedRun & { readonly engine: EvmEngine }) | undefined;
}

/**
 * Executes blocks on their parents and keeps the results: executed blocks until they are stored, and the faults of invalid ones.
 */
export class BlockExecutor {
  readonly branches: Branches;
  /** milliseconds spent on executing and building blocks since the head last changed */
  spentMs = 0;
  readonly #deps: BlockExecutorDeps;
  readonly #tree: BlockTree;
  readonly #invalid = new InvalidBlocks();
  readonly #removed = new RemovedBlocks();

  constructor(deps: BlockExecutorDeps, limits: BlockTreeLimits) {
    this.#deps = deps;
    const { store } = deps;
    this.#tree = new BlockTree(limits, (hash, number) => isCanonicalBlock(store, hash, number));
    this.branches = new Branches(store, this.#tree);
  }

  /** rough sizes in bytes */
  get memory(): { readonly executed: number; readonly removed: number } {
    return { executed: this.#tree.bytes, removed: this.#removed.bytes };
  }

  get badBlocks(): readonly BadBlock[] {
    return this.#invalid.recent();
  }

  invalid(hashHex: Hex): InvalidBlock | undefined {
    return this.#invalid.get(hashHex);
  }

  preparedBlockOf(hash: Uint8Array): PreparedBlock | undefined {
    return this.#tree.get(bytesToHex(hash))?.prepared;
  }

  /** @returns undefined if the block has to be executed */
  knownVerdict(block: PreparedBlock): PayloadStatusV1 | undefined {
    const { header, hash, hashHex } = block;
    const known = this.#invalid.get(hashHex);
    if (known !== undefined) return invalidStatus(known.latestValidHash, known.fault);
    if (!this.branches.isExecuted(hashHex, hash)) return undefined;
    const foreignBody = checkBodyBelongs(rulesOfBlock(this.#deps.context.config, header), block);
    if (foreignBody !== undefined) return invalidStatus(bytesToHex(header.parentHash), foreignBody);
    return validStatus(hashHex);
  }

  execute(prepared: PreparedBlock): PayloadStatusV1 {
    const { context, limit, metrics, nowMs, readAhead } = this.#deps;
    const { block, hash, hashHex } = prepared;
    const { parentHash } = block.header;
    const parentHex = bytesToHex(parentHash);
    const badParent = this.#invalid.get(parentHex);
    if (badParent !== undefined) {
      const fault = blockFault("parent-invalid", { parent: parentHex, rule: badParent.fault.rule });
      this.#invalid.add(hashHex, { fault, latestValidHash: badParent.latestValidHash });
      return invalidStatus(badParent.latestValidHash, fault);
    }
    const parent = this.parentState(parentHash, parentHex);
    if (parent === undefined) return SYNCING;
    const startMs = nowMs();
    const spentFromMs = performance.now();
    const started = this.#deps.startedRun(prepared);
    if (started !== undefined) metrics.started.inc();
    const verdict = limit.run(started?.engine ?? context.engine, hashHex, context.config.optimism !== undefined, () =>
      executeBlock(context, parent, prepared, started),
    );
    this.spentMs += performance.now() - spentFromMs;
    metrics.execute.observe((nowMs() - startMs) / 1000, { verdict: verdict.kind });
    if (verdict.kind === "invalid") {
      if (verdict.isFinal) {
        this.#invalid.add(hashHex, { fault: verdict.fault, latestValidHash: parentHex });
        this.#invalid.addBlock({ block, hash, fault: verdict.fault });
      }
      return invalidStatus(parentHex, verdict.fault);
    }
    const { executed } = verdict;
    this.add(executed);
    readAhead?.learn(block.transactions, executed.senders, executed.changes);
    return validStatus(hashHex);
  }

  /** Keeps a block that was executed or built. */
  add(executed: ExecutedBlock): void {
    this.#tree.add(executed, this.#deps.store.head()!.number);
  }

  /** Keeps a block that leaves the canonical chain, in case that fork choice returns to it. */
  addRemoved({ block, hash, senders }: StoredBlock): void {
    this.#removed.add(bytesToHex(hash), new PreparedBlock(block, { senders }));
  }

  /** Drops blocks beyond the limits, after the head has changed. */
  trim(): void {
    const { number, hash } = this.#deps.store.head()!;
    this.#tree.trim(number, hash);
  }

  /** The block with the state after it. @returns undefined if the block or that state is not there */
  parentState(hash: Uint8Array, hashHex: Hex): ParentState | undefined {
    const branch = this.branchOf(hashHex);
    const state = branch && this.branches.parentState(branch, hash);
    const { parentStateOf } = this.#deps;
    return state === undefined || parentStateOf === undefined ? state : parentStateOf(state);
  }

  /** The block's branch. Blocks that left the canonical chain and the memory are executed again. */
  branchOf(hashHex: Hex): Branch | undefined {
    const known = this.branches.branchOf(hashHex);
    if (known !== undefined) return known;
    const missing: PreparedBlock[] = [];
    for (let at = hashHex; this.branches.branchOf(at) === undefined; ) {
      const block = this.#removed.get(at) ?? this.#tree.get(at)?.prepared; // in the tree, but without all the blocks that it builds on
      if (block === undefined) return undefined;
      missing.push(block);
      at = bytesToHex(block.header.parentHash);
    }
    for (const block of missing.reverse()) if (this.execute(block).status !== "VALID") return undefined;
    return this.branches.branchOf(hashHex);
  }
}

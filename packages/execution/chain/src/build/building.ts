import { bytesToHex, type Hex, hexToBytes, isCodedError } from "@rnode/primitives";
import { type PayloadAttributes, type PayloadStatusV1, payloadId } from "@rnode/protocol";
import type {
  AttributesFault,
  BuildResult,
  BuiltPayload,
  ExtendResult,
  ForcedBlock,
  ForkchoiceResult,
  ForkchoiceState,
} from "../api.ts";
import type { ChainMetrics } from "../chain-metrics.ts";
import type { ExecutionContext, ParentState } from "../execute/block-execution.ts";
import type { ExecutedBlock } from "../execute/executed-block.ts";
import type { ExecutionLimit } from "../execute/execution-limit.ts";
import type { BlockExecutor } from "../fork-choice/block-executor.ts";
import type { Heads } from "../fork-choice/heads.ts";
import type { PreparedBlock } from "../prepared-block.ts";
import { type BuildStart, type HeaderChoices, startBuild, UNLIMITED_TIME } from "./payload-builder.ts";
import type { PayloadJobs } from "./payload-jobs.ts";

export interface BuildingDeps {
  /** for blocks that are built in one call; open builds have their own engine */
  readonly context: ExecutionContext;
  readonly jobs: PayloadJobs;
  readonly blocks: BlockExecutor;
  readonly heads: Heads;
  readonly limit: ExecutionLimit;
  readonly metrics: ChainMetrics;
  readonly nowMs: () => number;
}

/** PERF: a commit costs as much as executing several small blocks; each block that waits for one makes reading the state slower. */
const BLOCKS_PER_COMMIT = 64;

/** in the ids of blocks that `extend` builds */
const EXTENSION_VERSION = 3;

export const payloadOf = ({ block, hash, tipsWei, requests }: ExecutedBlock): BuiltPayload => ({
  block,
  hash,
  value: tipsWei,
  requests,
});

/** Builds blocks on the head and on other executed blocks. */
export class Building {
  readonly #deps: BuildingDeps;

  constructor(deps: BuildingDeps) {
    this.#deps = deps;
  }

  /** Implements `Chain.forkchoiceUpdated`. */
  choose(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult {
    const { heads, jobs, metrics } = this.#deps;
    const chosen = heads.choose(state);
    if (attributes === undefined || chosen.kind !== "updated" || !this.#isHead(state, chosen.status)) return chosen;
    const parent = this.#parentState(state.headBlockHash);
    const stopTimer = metrics.start.time();
    const started = jobs.start(parent, attributes, version);
    stopTimer();
    if (started.kind === "invalid") return { kind: "invalid-attributes", ...started.problem };
    return { kind: "updated", status: chosen.status, payloadId: started.id };
  }

  /** Implements `Chain.extend`. */
  extend(state: ForkchoiceState, wanted: readonly ForcedBlock[], limitMs: number): ExtendResult {
    const { blocks: executor, heads, jobs, nowMs } = this.#deps;
    const chosen = heads.choose(state);
    if (chosen.kind === "invalid-state") return chosen;
    const { status } = chosen;
    if (!this.#isHead(state, status)) return { kind: "extended", status, blocks: [], refusal: undefined };
    jobs.suspend("derived");
    const deadlineMs = nowMs() + limitMs;
    const blocks: PreparedBlock[] = [];
    let refusal: { readonly fault: AttributesFault; readonly reason: string } | undefined;
    let tip = state.headBlockHash;
    const commit = (): void => {
      const branch = executor.branches.branchOf(bytesToHex(tip));
      if (branch === undefined) throw new Error(`the block ${bytesToHex(tip)} that was built is gone`);
      heads.move(branch, {});
    };
    for (const block of wanted) {
      const built = this.#buildNext(tip, block, blocks.length === 0);
      if (built === undefined) break;
      if (built.kind === "invalid") {
        refusal = built.problem;
        break;
      }
      blocks.push(built.executed.prepared);
      tip = built.executed.hash;
      if (blocks.length % BLOCKS_PER_COMMIT === 0) commit();
      if (nowMs() >= deadlineMs) break;
    }
    if (blocks.length % BLOCKS_PER_COMMIT !== 0) commit();
    return { kind: "extended", status, blocks, refusal };
  }

  /** Implements `Chain.getPayload`. */
  finish(id: Hex): BuiltPayload | undefined {
    const { blocks, heads, jobs, metrics } = this.#deps;
    const startMs = performance.now();
    const stopTimer = metrics.finish.time();
    const executed = jobs.finish(id);
    stopTimer();
    blocks.spentMs += performance.now() - startMs;
    if (executed === undefined) return undefined;
    blocks.add(executed); // it comes back through newPayload, and is then not executed again
    heads.addBuilt(executed);
    return payloadOf(executed);
  }

  /**
   * Builds a block on an executed parent at once, with the pool's transactions unless the attributes say otherwise. The block is not kept.
   *
   * @param choices header fields that differ from what the rules give
   */
  build(
    parentHash: Uint8Array,
    attributes: PayloadAttributes,
    choices: HeaderChoices = {},
  ): { readonly kind: "built"; readonly executed: ExecutedBlock } | Exclude<BuildResult, { kind: "built" }> {
    const { blocks, context, jobs } = this.#deps;
    const parent = blocks.parentState(parentHash, bytesToHex(parentHash));
    if (parent === undefined) return { kind: "unknown-parent" };
    const started = startBuild(context, parent, attributes, choices);
    if (started.kind === "invalid") return { kind: "invalid-attributes", ...started.problem };
    const { build } = started;
    if (build.usesPool && jobs.source !== undefined) build.fill(jobs.source, jobs.limits, UNLIMITED_TIME);
    return { kind: "built", executed: build.seal() };
  }

  /** The head as the parent of a block. */
  headState(): ParentState {
    return this.#parentState(hexToBytes(this.#deps.heads.latest.hash));
  }

  /** @returns undefined: it takes too long, and earlier blocks were built; the next call starts with it */
  #buildNext(
    tip: Uint8Array,
    { attributes, transactions }: ForcedBlock,
    isFirst: boolean,
  ): { readonly kind: "built"; readonly executed: ExecutedBlock } | Extract<BuildStart, { kind: "invalid" }> | undefined {
    const { blocks, context, limit, metrics } = this.#deps;
    const parent = this.#parentState(tip);
    const startMs = performance.now();
    const stopTimer = metrics.extend.time();
    let started: BuildStart;
    try {
      started = limit.run(context.engine, payloadId(tip, attributes, EXTENSION_VERSION), false, () =>
        startBuild(context, parent, attributes, {}, transactions),
      );
    } catch (error) {
      if (isFirst || !isCodedError(error, "chain/execution-too-long")) throw error;
      return undefined;
    }
    if (started.kind === "invalid") return started;
    const executed = started.build.seal();
    stopTimer();
    blocks.spentMs += performance.now() - startMs;
    blocks.add(executed);
    return { kind: "built", executed };
  }

  #parentState(head: Uint8Array): ParentState {
    const parent = this.#deps.blocks.parentState(head, bytesToHex(head));
    if (parent === undefined) throw new Error(`no state at the head ${bytesToHex(head)}`); // the head's state is always there
    return parent;
  }

  #isHead({ headBlockHash }: ForkchoiceState, { status }: PayloadStatusV1): boolean {
    return status === "VALID" && this.#deps.heads.latest.hash === bytesToHex(headBlockHash);
  }
}

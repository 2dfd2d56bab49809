import type { DerivationPipeline, DerivedAttributes, Pull } from "@rnode/derivation";
import type { L2BlockRef } from "@rnode/protocol";
import type { BlocksAhead } from "./blocks-ahead.ts";

/** What came after the derived attributes. */
export type PullEnd =
  | { readonly kind: "pulled"; readonly pull: Exclude<Pull<DerivedAttributes>, { kind: "value" }> }
  | { readonly kind: "failed"; readonly error: unknown };

export interface Pulled {
  /** each builds on the one before */
  readonly items: readonly DerivedAttributes[];
  /** undefined: more may follow once these have become blocks */
  readonly end: PullEnd | undefined;
}

export interface PipelinePullerDeps {
  readonly pipeline: DerivationPipeline;
  readonly ahead: BlocksAhead;
  /** something has been pulled */
  readonly wake: () => void;
}

/** How many steps a pull may take before it returns. */
const STEPS_A_PULL = 64;
/** Limits for what one pull derives ahead of building; the last block counted may exceed the limit of bytes. */
const MAX_BLOCKS_AHEAD = 128;
const MAX_BYTES_AHEAD = 4 << 20;
/** For how many blocks names are ignored after one was wrong: each wrong one costs a reset. */
const BLOCKS_WITHOUT_NAMES = 1000;
const NOTHING: Pulled = { items: [], end: undefined };

/**
 * Pulls attributes from the pipeline in the background, one pull at a time. Within a span batch, whose blocks name no parents, it derives
 * many blocks although the first of them is not built yet. The same with the singular batches of a channel: the hash that each of them
 * names is taken for that of the block before it, and whoever builds the blocks compares. Anything else has to wait for the block that it
 * builds on.
 */
export class PipelinePuller {
  private readonly deps: PipelinePullerDeps;
  private pulling: Promise<void> | undefined;
  private pulled: Pulled | undefined;
  /** names of blocks up to this one are ignored */
  private ignoresNamesUpTo = -1;

  constructor(deps: PipelinePullerDeps) {
    this.deps = deps;
  }

  get isPulling(): boolean {
    return this.pulling !== undefined;
  }

  get hasPulled(): boolean {
    return this.pulled !== undefined;
  }

  async whenIdle(): Promise<void> {
    await this.pulling;
  }

  /** Starts deriving on a block, unless something is being derived. @param isAhead whether to derive more than the next block */
  start(parent: L2BlockRef, isAhead: boolean): void {
    if (this.pulling !== undefined) return;
    this.pulling = this.pull(parent, isAhead).then((pulled) => {
      this.pulled = pulled;
      this.pulling = undefined;
      this.deps.wake();
    });
  }

  /** Starts deriving on a block that has been derived but not built, if the next batch can do with that. */
  startAfter(last: DerivedAttributes): void {
    if (this.pulling !== undefined || this.pulled !== undefined) return;
    const next = this.addAhead(last);
    if (next !== undefined) this.start(next, true);
  }

  /** A batch named a parent that has another hash, or one that cannot be built: derives block by block for a while. */
  ignoreNames(from: number): void {
    this.ignoresNamesUpTo = from + BLOCKS_WITHOUT_NAMES;
  }

  private addAhead({ parent, attributes }: DerivedAttributes): L2BlockRef | undefined {
    const { nextParent } = this.deps.pipeline;
    if (nextParent === undefined) return undefined;
    if (nextParent !== "unnamed" && parent.number < this.ignoresNamesUpTo) return undefined;
    return this.deps.ahead.add(parent, attributes, nextParent);
  }

  /** What was pulled since the last call: attributes first, what ended the pull once they are taken. */
  take(): Pulled {
    const { pulled = NOTHING } = this;
    const { items, end } = pulled;
    this.pulled = items.length > 0 && end !== undefined ? { items: [], end } : undefined;
    return items.length > 0 ? { items, end: undefined } : pulled;
  }

  /** Forgets derived attributes, because the block that they build on will not exist. @returns them */
  async dropItems(): Promise<readonly DerivedAttributes[]> {
    await this.pulling;
    const { items, end } = this.pulled ?? NOTHING;
    const isReset = end?.kind === "pulled" && end.pull.kind === "reset";
    this.pulled = isReset ? { items: [], end } : undefined; // the pipeline must be reset all the same
    return items;
  }

  async clear(): Promise<void> {
    await this.pulling;
    this.pulled = undefined;
  }

  private async pull(base: L2BlockRef, isAhead: boolean): Promise<Pulled> {
    const { pipeline, ahead } = this.deps;
    const items: DerivedAttributes[] = [];
    let bytes = 0;
    let parent: L2BlockRef | undefined = base;
    for (let steps = 1; parent !== undefined; steps++) {
      let pull: Pull<DerivedAttributes>;
      try {
        pull = await pipeline.step(parent);
      } catch (error) {
        // On a block that is not built yet, the next pull will meet the same failure again, or no failure.
        return { items, end: ahead.isAhead(parent) ? undefined : { kind: "failed", error } };
      }
      if (pull.kind === "value") {
        items.push(pull.value);
        for (const { length } of pull.value.attributes.transactions ?? []) bytes += length;
        const goesOn = isAhead && items.length < MAX_BLOCKS_AHEAD && bytes < MAX_BYTES_AHEAD;
        parent = goesOn ? this.addAhead(pull.value) : undefined;
        continue;
      }
      const mayGoOn = pull.kind === "again" && !ahead.isAhead(parent);
      if (mayGoOn && steps < STEPS_A_PULL) continue;
      return { items, end: pull.kind === "again" && ahead.isAhead(parent) ? undefined : { kind: "pulled", pull } };
    }
    return { items, end: undefined };
  }
}

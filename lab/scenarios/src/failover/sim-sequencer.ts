import type { Hex } from "@rnode/primitives";
import type { PayloadAttributes } from "@rnode/protocol";
import { headerOf, type SimBlock } from "./fake-chain.ts";
import type { SimEngine } from "./sim-engine.ts";
import type { Component, Timeline } from "./timeline.ts";

export interface SimSequencerDeps {
  readonly timeline: Timeline;
  readonly rnode: Component;
  readonly blockTimeMs: number;
  /** @param then undefined: no answer */
  readonly call: <T>(action: (engine: SimEngine) => T, then: (result: T | undefined) => void) => void;
  readonly head: () => SimBlock | undefined;
  readonly isLeader: () => boolean;
  readonly attributesOn: (parent: SimBlock) => PayloadAttributes;
  /** offers a block to the conductor, and lets it out. @returns whether it was committed */
  readonly commit: (id: Hex, block: SimBlock) => boolean;
  /** the engine has ended the build */
  readonly onStopped: (id: Hex) => void;
}

interface Job {
  readonly id: Hex;
  readonly parent: SimBlock;
  readonly attributes: PayloadAttributes;
}

const SEALING_MS = 50;
const RETRY_MS = 1_000;

/** The timing of rnode's `Sequencer`, without its promises: begin, seal, commit; and what it does when it stops or is late. */
export class SimSequencer {
  isActive = false;
  readonly #deps: SimSequencerDeps;
  #job: Job | undefined;
  #sealed: { readonly id: Hex; readonly block: SimBlock } | undefined;
  #timer: { readonly cancel: () => void } | undefined;
  #waitsForEngine = false;

  constructor(deps: SimSequencerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.isActive = true;
    this.#schedule(0);
  }

  stop(): void {
    const job = this.#job;
    this.crash();
    if (job === undefined) return;
    const { call, onStopped } = this.#deps;
    call(
      ({ chain }) => {
        if (chain.tip.hashHex !== job.parent.hashHex) return;
        chain.build({ ...job.attributes, noTxPool: true });
        onStopped(job.id);
      },
      () => {},
    );
  }

  crash(): void {
    this.isActive = false;
    this.#waitsForEngine = false;
    this.#job = undefined;
    this.#sealed = undefined;
    this.#timer?.cancel();
  }

  onHead(): void {
    const parent = this.#deps.head()?.hashHex;
    if (this.#job !== undefined && this.#job.parent.hashHex !== parent) this.#job = undefined;
    if (this.isActive && this.#job === undefined && this.#sealed === undefined && !this.#waitsForEngine) this.#schedule(0);
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.rnode.after(delayMs, () => this.#turn());
  }

  #turn(): void {
    if (!this.isActive || this.#waitsForEngine) return;
    if (this.#sealed !== undefined) this.#commit(this.#sealed);
    else if (this.#job !== undefined) this.#seal(this.#job);
    else this.#begin();
  }

  #call<T>(action: (engine: SimEngine) => T, then: (result: T | undefined) => void): void {
    this.#waitsForEngine = true;
    this.#deps.call(action, (result) => {
      this.#waitsForEngine = false;
      if (this.isActive) then(result);
    });
  }

  #begin(): void {
    const { attributesOn, blockTimeMs, head, isLeader, timeline } = this.#deps;
    const parent = head();
    const lateMs = parent === undefined ? 0 : timeline.nowMs - headerOf(parent).timestamp * 1_000;
    const mustAsk = lateMs > blockTimeMs;
    const waitMs = parent === undefined ? RETRY_MS : mustAsk && !isLeader() ? blockTimeMs : -lateMs;
    if (parent === undefined || waitMs > 0) {
      this.#schedule(waitMs);
      return;
    }
    const attributes = attributesOn(parent);
    const build = ({ chain }: SimEngine): Hex | undefined =>
      chain.tip.hashHex === parent.hashHex ? chain.build(attributes) : undefined;
    this.#call(build, (id) => {
      if (id !== undefined) this.#job = { id, parent, attributes };
      this.onHead();
      if (id === undefined) this.#schedule(RETRY_MS);
      else if (this.#job !== undefined) this.#schedule(attributes.timestamp * 1_000 - SEALING_MS - timeline.nowMs);
    });
  }

  #seal({ id }: Job): void {
    this.#call(
      ({ chain }) => chain.getPayload(id),
      (block) => {
        this.#job = undefined;
        if (block === undefined) this.#schedule(this.#deps.blockTimeMs);
        else this.#commit((this.#sealed = { id, block }));
      },
    );
  }

  #commit({ id, block }: { readonly id: Hex; readonly block: SimBlock }): void {
    const { commit, head } = this.#deps;
    const hasChanged = headerOf(head() ?? block).number >= headerOf(block).number && head() !== undefined;
    if (!hasChanged && !commit(id, block)) {
      this.#schedule(RETRY_MS);
      return;
    }
    this.#sealed = undefined;
    if (hasChanged) this.#schedule(0); // otherwise the next one begins with the new head
  }
}

import type { Hex } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { ActiveSequencer, SyncStatus } from "@rnode/rollup-client";
import type { BatcherBlock } from "./batcher-block.ts";
import type { ClientBlocks, RollupNode } from "./rollup-access.ts";

/** A rollup node and its execution client. */
export interface SequencerEndpoint {
  readonly node: RollupNode;
  readonly blocks: ClientBlocks;
}

/** Asks the active one of several sequencers; after a failure, which one it is is asked first. */
export class SequencerEndpoints implements RollupNode, ClientBlocks {
  readonly #active: ActiveSequencer;
  readonly #endpoints: readonly SequencerEndpoint[];

  constructor(active: ActiveSequencer, endpoints: readonly SequencerEndpoint[]) {
    this.#active = active;
    this.#endpoints = endpoints;
  }

  syncStatus(): Promise<SyncStatus> {
    return this.#ask(({ node }) => node.syncStatus());
  }
  rollupConfig(): Promise<RollupConfig> {
    return this.#ask(({ node }) => node.rollupConfig());
  }
  chainId(): Promise<bigint> {
    return this.#ask(({ blocks }) => blocks.chainId());
  }
  hashOf(number: number): Promise<Hex | undefined> {
    return this.#ask(({ blocks }) => blocks.hashOf(number));
  }
  headNumber(): Promise<number> {
    return this.#ask(({ blocks }) => blocks.headNumber());
  }
  blocks(first: number, count: number): Promise<BatcherBlock[]> {
    return this.#ask(({ blocks }) => blocks.blocks(first, count));
  }

  async #ask<T>(ask: (endpoint: SequencerEndpoint) => Promise<T>): Promise<T> {
    const endpoint = this.#endpoints[await this.#active.index()]!;
    try {
      return await ask(endpoint);
    } catch (error) {
      this.#active.recheck();
      throw error;
    }
  }
}

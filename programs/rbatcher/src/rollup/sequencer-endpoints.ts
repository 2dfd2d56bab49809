import type { ActiveSequencer, SyncStatus } from "@rnode/node-clients";
import type { Hex } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { BatcherBlock } from "../channels/batcher-block.ts";
import type { ClientBlocks, RollupNode } from "./rollup-access.ts";

/** A rollup node and its execution client. */
export interface SequencerEndpoint {
  readonly node: RollupNode;
  readonly blocks: ClientBlocks;
}

/**
 * Sends requests to the active one of several sequencers. After a failure it first determines the active one again. Blocks are
 * used only if the sequencer is still active after they were read: published blocks become the chain, and a stopped sequencer may
 * have blocks that its cluster never committed.
 */
export class SequencerEndpoints implements RollupNode, ClientBlocks {
  readonly #active: ActiveSequencer;
  readonly #endpoints: readonly SequencerEndpoint[];

  constructor(active: ActiveSequencer, endpoints: readonly SequencerEndpoint[]) {
    this.#active = active;
    this.#endpoints = endpoints;
  }

  /** Its safe block is the local-safe one: whether batches were derived does not depend on messages of other chains. */
  async syncStatus(): Promise<SyncStatus> {
    const status = await this.#ask(({ node }) => node.syncStatus());
    return { ...status, safeL2: status.localSafeL2 ?? status.safeL2 };
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
    return this.#ask(async ({ blocks }, index) => {
      const read = await blocks.blocks(first, count);
      await this.#active.confirm(index);
      return read;
    });
  }

  async #ask<T>(ask: (endpoint: SequencerEndpoint, index: number) => Promise<T>): Promise<T> {
    const index = await this.#active.index();
    try {
      return await ask(this.#endpoints[index]!, index);
    } catch (error) {
      this.#active.recheck();
      throw error;
    }
  }
}

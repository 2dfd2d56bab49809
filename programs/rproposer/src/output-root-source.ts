import type { Output, SyncStatus } from "@rnode/node-clients";
import { bigintToBytes } from "@rnode/primitives";
import type { Proposal, ProposalSource, SourceStatus } from "./proposal.ts";

/** The part of the rollup node's API that output roots need. */
export interface OutputNode {
  syncStatus(): Promise<SyncStatus>;
  outputAtBlock(number: number): Promise<Output>;
}

export interface OutputRootSourceDeps {
  /** the node to ask now: with several sequencers, the active one's. Rejects if there is none. */
  readonly node: () => Promise<OutputNode>;
  /** the node that was asked failed */
  readonly onFailure: () => void;
}

/** Output roots of a rollup node (`--rollup-rpc`). */
export class OutputRootSource implements ProposalSource {
  readonly rootKind = "output root";
  readonly #deps: OutputRootSourceDeps;

  constructor(deps: OutputRootSourceDeps) {
    this.#deps = deps;
  }

  async status(): Promise<SourceStatus> {
    return statusOf(await this.#ask((node) => node.syncStatus()));
  }

  async proposalAt(number: number): Promise<Proposal> {
    const { root, block, status } = await this.#ask((node) => node.outputAtBlock(number));
    return {
      root,
      sequenceNumber: block.number,
      timestampSec: block.timestamp,
      extraData: bigintToBytes(BigInt(block.number), 32),
      status: statusOf(status),
    };
  }

  async #ask<T>(question: (node: OutputNode) => Promise<T>): Promise<T> {
    try {
      return await question(await this.#deps.node());
    } catch (error) {
      this.#deps.onFailure();
      throw error;
    }
  }
}

const statusOf = ({ currentL1, safeL2, finalizedL2 }: SyncStatus): SourceStatus => ({
  currentL1,
  safe: safeL2.number,
  finalized: finalizedL2.number,
});

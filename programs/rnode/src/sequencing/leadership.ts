import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

/** Decides which of several sequencers may release blocks. */
export interface Leadership {
  /**
   * Requests permission to publish a sealed block. May be called again for the same block.
   *
   * @param signal aborted when the answer is no longer needed
   * @throws Error there is no answer: try again later with the same block, because it may be committed
   */
  consent(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<"leader" | "notLeader">;
  /** Whether this node may sequence. @throws Error there is no answer */
  isLeader(): Promise<boolean>;
}

/** For a network with a single sequencer: this node. */
export const onlySequencer: Leadership = {
  consent: () => Promise.resolve("leader"),
  isLeader: () => Promise.resolve(true),
};

/** A conductor next to this node: it starts and stops the sequencer, and every block needs its consent. */
export interface SequencerConductor extends Leadership {
  /** From now on this node sequences without asking, until it is restarted: for operators whose conductors are lost. */
  overrideLeader(): void;
  close(): Promise<void>;
}

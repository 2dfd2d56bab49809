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
}

/** For a network with a single sequencer: this node. */
export const onlySequencer: Leadership = { consent: () => Promise.resolve("leader") };

/** A conductor next to this node: it starts and stops the sequencer, and every block needs its consent. */
export interface SequencerConductor extends Leadership {
  /** Whether this node may start sequencing. @throws Error there is no answer */
  isLeader(): Promise<boolean>;
  /** From now on this node sequences without asking, until it is restarted: for operators whose conductors are lost. */
  overrideLeader(): void;
  close(): Promise<void>;
}

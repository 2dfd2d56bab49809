import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

/** Decides which of several sequencers may release blocks. */
export interface Leadership {
  /**
   * Asks for permission to release a sealed block, before anybody else sees it. May be called again for the same block.
   *
   * @param signal aborted when nobody waits for the answer any more
   * @throws Error there is no answer: ask again later, for the same block, as the other side may have taken it
   */
  consent(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<"leader" | "notLeader">;
}

/** For a network with a single sequencer: this node. */
export const onlySequencer: Leadership = { consent: () => Promise.resolve("leader") };

/** A conductor beside this node: it starts and stops the sequencer, and every block needs its consent. */
export interface SequencerConductor extends Leadership {
  /** Whether this node may start sequencing. @throws Error there is no answer */
  isLeader(): Promise<boolean>;
  /** From now on this node sequences without asking, until it is restarted: for operators whose conductors are lost. */
  overrideLeader(): void;
  close(): Promise<void>;
}

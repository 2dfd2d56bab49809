import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

/** Decides which of several sequencers may release blocks. */
export interface Leadership {
  /**
   * Asks for permission to release a sealed block, before anybody else sees it. May be called again for the same block.
   *
   * @param signal aborted when nobody waits for the answer any more
   */
  consent(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<"leader" | "notLeader">;
}

/** For a network with a single sequencer: this node. */
export const onlySequencer: Leadership = { consent: () => Promise.resolve("leader") };

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

/** Which of several sequencers may let blocks out. */
export interface Leadership {
  /**
   * Asks for a block that was sealed, before anybody else sees it. It may be asked again for the same block.
   *
   * @param signal nobody waits for the answer any more
   */
  consent(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<"leader" | "notLeader">;
}

/** There is one sequencer, and this node is it. */
export const onlySequencer: Leadership = { consent: () => Promise.resolve("leader") };

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

export type Published =
  | { readonly kind: "published" }
  /** by its rules this cannot be a block of the chain: nobody would take it */
  | { readonly kind: "refused"; readonly reason: string };

/** How others get the sequencer's blocks before they are on L1. */
export interface BlockGossip {
  /** @param signal once it is aborted the block must not go out any more */
  publish(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<Published>;
}

/** There is no network: others get the blocks from L1. */
export const noGossip: BlockGossip = { publish: () => Promise.resolve({ kind: "published" }) };

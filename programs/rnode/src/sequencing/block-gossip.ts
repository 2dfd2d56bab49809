import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

export type Published =
  | { readonly kind: "published" }
  /** under the gossip rules this cannot be a block of the chain, so no peer would accept it */
  | { readonly kind: "refused"; readonly reason: string };

/** A signature, or why the block can only go on without one, which nobody would take. */
export type Signed =
  | { readonly kind: "signed"; readonly signature: Uint8Array }
  | { readonly kind: "unsigned"; readonly reason: string };

/** Distributes the sequencer's blocks to other nodes before they are on L1. */
export interface BlockGossip {
  /**
   * What `publish` needs beside the block. Not there: nothing.
   *
   * @throws Error there is no signature for now: the block waits, and is not published without
   */
  sign?(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<Signed>;
  /** @param signal once it is aborted, the block must not be published any more */
  publish(envelope: ExecutionPayloadEnvelope, signal: AbortSignal, signed?: Signed): Promise<Published>;
}

/** Without a network, other nodes get the blocks from L1. */
export const noGossip: BlockGossip = { publish: () => Promise.resolve({ kind: "published" }) };

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

export type Published =
  | { readonly kind: "published" }
  /** under the gossip rules this cannot be a block of the chain, so no peer would accept it */
  | { readonly kind: "refused"; readonly reason: string };

/** A signature, or the reason why the block is published without one, which peers reject. */
export type Signed =
  | { readonly kind: "signed"; readonly signature: Uint8Array }
  | { readonly kind: "unsigned"; readonly reason: string };

/** Distributes the sequencer's blocks to other nodes before they are on L1. */
export interface BlockGossip {
  /**
   * The signature that `publish` needs. Absent: it needs none.
   *
   * @throws Error the signer is not available: the block waits, and is not published without a signature
   */
  sign?(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<Signed>;
  /** @param signal once it is aborted, the block must not be published any more */
  publish(envelope: ExecutionPayloadEnvelope, signal: AbortSignal, signed?: Signed): Promise<Published>;
}

/** Without a network, other nodes get the blocks from L1. */
export const noGossip: BlockGossip = { publish: () => Promise.resolve({ kind: "published" }) };

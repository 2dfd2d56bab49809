/** Two blocks of one height that the chain's signer signed. */
export interface Equivocation {
  readonly number: number;
  readonly blocks: readonly {
    readonly hash: string;
    /** the peer that sent it first; `self`: this node published it */
    readonly from: string;
    /** r ‖ s ‖ y parity */
    readonly signature: string;
    /** keccak-256 of the message behind the signature. Spec: docs/protocol/03-p2p.md#message-body */
    readonly payloadHash: string;
    /** signature and payload as gossip has them, decompressed; null if it is too large to be listed */
    readonly message: string | null;
  }[];
}

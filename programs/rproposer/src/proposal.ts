import type { Hex } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";

/** What a proposal commits to: a block of one chain, or all chains of a dependency set at one time. */
export type RootKind = "output root" | "super root";

/** How far the nodes have come. Numbers are L2 block numbers, of super roots L2 times in seconds; 0: not known yet. */
export interface SourceStatus {
  /** everything on L1 before this block has been derived */
  readonly currentL1: BlockId;
  readonly safe: number;
  readonly finalized: number;
}

/** A root that may be posted. */
export interface Proposal {
  readonly root: Hex;
  /** L2 block number, of a super root the L2 time in seconds: contracts call it the L2 sequence number */
  readonly sequenceNumber: number;
  /** L2 time, seconds */
  readonly timestampSec: number;
  /** of the dispute game with this root as its claim */
  readonly extraData: Uint8Array;
  /** of the node that the root is from, at that moment */
  readonly status: SourceStatus;
}

/** Where roots come from. Methods reject if no node answers. */
export interface ProposalSource {
  readonly rootKind: RootKind;
  status(): Promise<SourceStatus>;
  proposalAt(sequenceNumber: number): Promise<Proposal>;
}

import type { ForkTimes } from "@rnode/protocol";
import { type PayloadVersion, payloadVersionAt } from "./payload-ssz.ts";

/** A topic of blocks. */
export interface BlockTopic {
  /** on the wire */
  readonly topic: string;
  /** the encoding of its messages */
  readonly version: PayloadVersion;
}

const VERSIONS: readonly PayloadVersion[] = [1, 2, 3, 4];

/** The topics of a chain, V1 to V4. A node joins all of them at all times. Spec: docs/protocol/03-p2p.md#topics */
export const blockTopics = (l2ChainId: bigint): readonly BlockTopic[] =>
  VERSIONS.map((version) => ({ topic: `/optimism/${l2ChainId}/${version - 1}/blocks`, version }));

/** The topic that a block of this time is published on. */
export function publishingTopic(l2ChainId: bigint, forkTimes: ForkTimes, timestampSec: number): BlockTopic {
  return blockTopics(l2ChainId)[payloadVersionAt(forkTimes, timestampSec) - 1]!;
}

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { BlockName } from "../cluster/records.ts";
import type { HealthSample } from "../control/health-rules.ts";

/**
 * The part of the rollup node's and execution client's API that the conductor uses. Methods reject if there is no answer, or an
 * error.
 */
export interface SequencerNode {
  /** Never rejects: what does not answer is a part of the sample. `isActive` is undefined if it is not known. */
  sample(): Promise<HealthSample & { readonly isActive: boolean | undefined }>;
  unsafeHead(): Promise<BlockName>;
  /** Starts on top of that block, which must be the unsafe head. One that makes blocks already is left as it is. */
  start(hash: string): Promise<void>;
  /** One that is stopped already stays so. */
  stop(): Promise<void>;
  post(envelope: ExecutionPayloadEnvelope): Promise<void>;
  /** Makes a block the unsafe head in place of the unsafe blocks from its height on, while the node does not sequence. */
  replaceHead(envelope: ExecutionPayloadEnvelope): Promise<void>;
  /** Hash of the block at that height of the node's chain; undefined: there is none. */
  hashOf(number: number): Promise<string | undefined>;
  /** The block at that height of the node's chain, as a payload; undefined: there is none. */
  payloadAt(number: number): Promise<ExecutionPayloadEnvelope | undefined>;
  /** Whether L1 has another block at the height of this one; undefined: the node or its L1 endpoint cannot answer. */
  hasL1Replaced(block: BlockName): Promise<boolean | undefined>;
}

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { HealthSample } from "../control/health-rules.ts";

/** A block by number and hash. */
export interface BlockName {
  readonly number: number;
  readonly hash: string;
}

/** What the conductor needs of its rollup node and execution client. Methods reject if there is no answer, or a refusal. */
export interface SequencerNode {
  /** Never rejects: what does not answer is a part of the sample. `isActive` is undefined if it is not known. */
  sample(): Promise<HealthSample & { readonly isActive: boolean | undefined }>;
  unsafeHead(): Promise<BlockName>;
  /** Starts on top of that block, which must be the unsafe head. One that makes blocks already is left as it is. */
  start(hash: string): Promise<void>;
  /** One that is stopped already stays so. */
  stop(): Promise<void>;
  post(envelope: ExecutionPayloadEnvelope): Promise<void>;
}

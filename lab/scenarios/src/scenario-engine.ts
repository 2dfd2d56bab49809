import type { Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, L2BlockRef } from "@rnode/protocol";

/** An execution client: its interface for a rollup node, and access to its state for tests. */
export interface ScenarioEngine {
  readonly head: L2BlockRef;
  /** `undefined`: not set yet */
  readonly finalized: L2BlockRef | undefined;
  refByHash(hash: Hex): L2BlockRef | undefined;
  canonicalRef(number: number): L2BlockRef | undefined;
  canonicalPayload(number: number): ExecutionPayloadEnvelope | undefined;
  /** a user's transaction for blocks that may use the pool */
  addUserTransaction(encoded: Uint8Array): void;
  /** A crash: the newest blocks were not on the disk yet. @returns number of the new head */
  loseUnsafe(count: number): number;
  /** @returns the answer, or a promise of it. @throws {RpcError} */
  handle(method: string, params: readonly unknown[]): unknown;
  remove(): Promise<void>;
}

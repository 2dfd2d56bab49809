import { bytesToHex, equalBytes } from "@rnode/primitives";
import type { BatcherBlock } from "../channels/batcher-block.ts";
import type { L1Access } from "./l1-access.ts";

/** Why nothing is published now, although there is something to publish. It may go away by itself. */
export interface Obstacle {
  readonly reason: "sequencing-window-over" | "l1-origin-reorganised" | "not-the-batcher" | "spend-limit";
  /** the meaning, and the remedy */
  readonly text: string;
  readonly fields: Readonly<Record<string, string | number | bigint>>;
}

/**
 * Whether derivation would drop a block, were it published now. Spec: docs/protocol/02-derivation.md#batch-queue
 *
 * @param next the first block that is not on its way to L1
 * @param newest the newest block that would be published
 */
export async function derivationObstacle(
  { next, newest, l1Head, seqWindowSize }: { next: BatcherBlock; newest: BatcherBlock; l1Head: number; seqWindowSize: number },
  l1: Pick<L1Access, "blockHash">,
): Promise<Obstacle | undefined> {
  const windowEnd = next.ref.l1Origin.number + seqWindowSize;
  if (l1Head >= windowEnd) {
    return {
      reason: "sequencing-window-over",
      text: "publishing has stopped: the sequencing window of the next block is over, so derivation would drop it. The rollup node replaces it by empty blocks; publishing goes on after them",
      fields: { block: next.ref.number, l1Origin: next.ref.l1Origin.number, windowEnd, l1Head },
    };
  }
  const { hash, number } = newest.ref.l1Origin;
  const canonical = await l1.blockHash(number);
  if (canonical === undefined || canonical === hash) return undefined;
  return {
    reason: "l1-origin-reorganised",
    text: "publishing has stopped: L1 has reorganised away the L1 origin of blocks, so derivation would drop them. It goes on once the sequencer has replaced them, which takes seconds after a reorganisation of L1. If this stays, no verifier will accept the block: call admin_resetDerivationPipeline of the sequencer's rollup node, or restart it, so that it returns to the last block whose L1 origin is on L1",
    fields: { block: newest.ref.number, l1Origin: number, hash, canonical },
  };
}

/** @param onL1 the batcher address in the SystemConfig; undefined: unknown */
export function keyObstacle(address: Uint8Array, onL1: Uint8Array | undefined): Obstacle | undefined {
  if (onL1 === undefined || equalBytes(address, onL1)) return undefined;
  return {
    reason: "not-the-batcher",
    text: "publishing has stopped: the rollup's SystemConfig on L1 names another batcher, so derivation would ignore everything. Give that one's key, or have the owner set this address",
    fields: { address: bytesToHex(address), batcherOnL1: bytesToHex(onL1) },
  };
}

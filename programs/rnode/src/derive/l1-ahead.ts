import type { L1Provider } from "@rnode/derivation";
import { type BlobReadAhead, ReadAhead, type ReadAheadDeps } from "@rnode/l1";
import type { NodeBase } from "../node-base.ts";
import type { RnodeOptions } from "../options.ts";
import { withConfirmations } from "./l1-view.ts";

/** How many L1 blocks to request ahead of derivation: so many, or so much memory. */
const READ_AHEAD_BLOCKS = 128;
const READ_AHEAD_BYTES = 64 * 1024 * 1024;
const READ_AHEAD_HEAD_DISTANCE = 32;

/** A source of blobs in this process has nothing to fetch ahead. */
function aheadOf(blobs: NodeBase["connections"]["blobs"], inbox: Uint8Array): ReadAheadDeps["blobs"] {
  return "readAhead" in blobs ? { source: blobs as BlobReadAhead, inbox } : undefined;
}

/** L1 as derivation reads it: requested ahead, up to `--verifier.l1-confs` behind the head. */
export function l1Ahead(
  options: Pick<RnodeOptions, "l1" | "verifier">,
  { config, l1View, connections: { l1, blobs } }: Pick<NodeBase, "config" | "l1View" | "connections">,
): L1Provider {
  const l1Head = () => l1View.head;
  const ahead = new ReadAhead(
    {
      // what is read ahead waits in the cache
      depth: Math.min(READ_AHEAD_BLOCKS, Math.ceil((options.l1.cacheSize || READ_AHEAD_BLOCKS) / 2)),
      batch: options.l1.maxBatchSize,
      maxBytes: READ_AHEAD_BYTES,
      headDistance: READ_AHEAD_HEAD_DISTANCE,
    },
    { l1, l1Head, blobs: aheadOf(blobs, config.batchInboxAddress) },
  );
  return withConfirmations(ahead, options.verifier, l1Head);
}

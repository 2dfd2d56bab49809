import type { KnownHead } from "@rnode/program";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import type { Heads } from "../common/heads.ts";
import type { L1View } from "../derive/l1-view.ts";

const ZERO_HASH_HEX = `0x${"00".repeat(32)}` as const;
const ZERO_L1: L1BlockRef = { hash: ZERO_HASH_HEX, number: 0, parentHash: ZERO_HASH_HEX, timestamp: 0 };
const ZERO_L2: L2BlockRef = { ...ZERO_L1, l1Origin: { hash: ZERO_HASH_HEX, number: 0 }, sequenceNumber: 0 };

export interface SyncFacts {
  readonly heads: Heads | undefined;
  /** `undefined`: the safe block */
  readonly localSafe?: L2BlockRef | undefined;
  readonly l1: L1View;
  /** the L1 block that derivation has come to; everything before it has been derived, of itself perhaps not yet all */
  readonly currentL1: L1BlockRef | undefined;
  readonly queuedUnsafe: L2BlockRef | undefined;
  /** the block that the engine syncs to; undefined: it is not syncing */
  readonly engineSyncTarget?: L2BlockRef | undefined;
}

/** The unsafe head, for `GET /readyz`. @param known newer blocks that the node has heard of, if any */
export function knownHeadOf(heads: Heads | undefined, known: readonly (L2BlockRef | undefined)[]): KnownHead | undefined {
  if (heads === undefined) return undefined;
  const { number, timestamp } = heads.unsafe;
  return { number, timestampSec: timestamp, target: Math.max(number, ...known.map((block) => block?.number ?? 0)) };
}

export type SyncStatusJson = Readonly<Record<string, L1BlockRef | L2RefJson>>;

interface L2RefJson {
  readonly hash: string;
  readonly number: number;
  readonly parentHash: string;
  readonly timestamp: number;
  readonly l1origin: { readonly hash: string; readonly number: number };
  readonly sequenceNumber: number;
}

export const l1RefToJson = ({ hash, number, parentHash, timestamp }: L1BlockRef): L1BlockRef => ({
  hash,
  number,
  parentHash,
  timestamp,
});

/** The JSON key is `l1origin`, in lower case. Spec: docs/protocol/04-rpc.md#references */
export const l2RefToJson = ({ hash, number, parentHash, timestamp, l1Origin, sequenceNumber }: L2BlockRef): L2RefJson => ({
  hash,
  number,
  parentHash,
  timestamp,
  l1origin: { hash: l1Origin.hash, number: l1Origin.number },
  sequenceNumber,
});

/** Unknown references are shown as the zero reference, never as null. Spec: docs/protocol/04-rpc.md#syncstatus */
export function syncStatusToJson({ heads, localSafe, l1, currentL1, queuedUnsafe, engineSyncTarget }: SyncFacts): SyncStatusJson {
  const l1Json = (block: L1BlockRef | undefined): L1BlockRef => l1RefToJson(block ?? ZERO_L1);
  const l2Json = (block: L2BlockRef | undefined): L2RefJson => l2RefToJson(block ?? ZERO_L2);
  return {
    current_l1: l1Json(currentL1),
    current_l1_finalized: l1Json(l1.finalized),
    head_l1: l1Json(l1.head),
    safe_l1: l1Json(l1.safe),
    finalized_l1: l1Json(l1.finalized),
    unsafe_l2: l2Json(heads?.unsafe),
    safe_l2: l2Json(heads?.safe),
    finalized_l2: l2Json(heads?.finalized),
    pending_safe_l2: l2Json(heads?.pendingSafe),
    local_safe_l2: l2Json(localSafe ?? heads?.safe),
    queued_unsafe_l2: l2Json(queuedUnsafe),
    engine_sync_target: l2Json(engineSyncTarget ?? heads?.unsafe),
  };
}

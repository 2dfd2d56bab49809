import type { Hex } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";

/** A block as supervisors know it, of either chain: they are not told the L1 origin of L2 blocks. */
export type BlockRef = L1BlockRef;

/** An L2 block, and the L1 block up to which L1 was read when it was derived. */
export interface DerivedPair {
  readonly source: BlockRef;
  readonly derived: BlockRef;
}

/** What a node tells its supervisor. One field is set, or two of them. Spec: docs/protocol/05-services.md#managed-node-server */
export interface ManagedEvent {
  /** the node determines its heads again; the reason, in words */
  readonly reset?: string;
  /** the new tip */
  readonly unsafeBlock?: BlockRef;
  /** a block was derived, or an L1 block was read from which no further block was */
  readonly derivationUpdate?: DerivedPair;
  /** accompanies a `derivationUpdate`: derivation has moved to this L1 block */
  readonly derivationOriginUpdate?: BlockRef;
  /** all L1 blocks provided so far are used up, the last of which is `source` */
  readonly exhaustL1?: DerivedPair;
  readonly replaceBlock?: { readonly replacement: BlockRef; readonly invalidated: Hex };
}

export type EventKind = keyof ManagedEvent;

/** The fields that supervisors look at, the others null. */
export interface ManagedEventJson {
  readonly reset: string | null;
  readonly unsafeBlock: BlockRef | null;
  readonly derivationUpdate: DerivedPair | null;
  readonly derivationOriginUpdate: BlockRef | null;
  readonly exhaustL1: DerivedPair | null;
  readonly replaceBlock: { readonly replacement: BlockRef; readonly invalidated: Hex } | null;
}

export const managedEventToJson = (event: ManagedEvent): ManagedEventJson => ({
  reset: event.reset ?? null,
  unsafeBlock: event.unsafeBlock ?? null,
  derivationUpdate: event.derivationUpdate ?? null,
  derivationOriginUpdate: event.derivationOriginUpdate ?? null,
  exhaustL1: event.exhaustL1 ?? null,
  replaceBlock: event.replaceBlock ?? null,
});

/** Without the L1 origin, which references of supervisors do not have. */
export const toBlockRef = ({ hash, number, parentHash, timestamp }: BlockRef): BlockRef => ({
  hash,
  number,
  parentHash,
  timestamp,
});

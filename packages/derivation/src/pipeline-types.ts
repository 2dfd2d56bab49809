import type { L1BlockRef, L2BlockRef, PayloadAttributes } from "@rnode/protocol";
import type { DerivationObserver } from "./observer.ts";
import type { BlobProvider, Decompressor, L1Provider, L2Provider } from "./providers.ts";
import type { Pull } from "./pull.ts";

export interface DerivationProviders {
  readonly l1: L1Provider;
  readonly blobs: BlobProvider;
  readonly l2: L2Provider;
  readonly decompressor: Decompressor;
  /** the parts of interest; the rest stays silent */
  readonly observer?: Partial<DerivationObserver> | undefined;
}

/** The next block, derived. */
export interface DerivedAttributes {
  readonly attributes: PayloadAttributes;
  readonly parent: L2BlockRef;
  /** when the block is in place, it and the pending-safe blocks below it become safe ("concluding") */
  readonly isLastInSpan: boolean;
  /** the L1 block that was being read */
  readonly derivedFrom: L1BlockRef;
  /** what to do when the block is invalid, by the rules at `derivedFrom`: build it with its deposits only, or drop its batch */
  readonly isReplacedIfInvalid: boolean;
}

export type DerivationErrorCode =
  /** `step` before a successful `reset` */
  | "derivation/not-reset"
  /** the engine does not have an L2 block that it must have; temporary */
  | "derivation/l2-block-missing"
  /** L1 does not have the block that an L2 block names as its origin; the caller's sync start has to find another head */
  | "derivation/l1-origin-missing"
  /** critical: fewer L1 blocks are buffered than the safe head needs (reset was not given the safe head) */
  | "derivation/l1-blocks-missing"
  /** critical: a log of the portal or of the SystemConfig contract does not have the form that these contracts give it */
  | "derivation/bad-deposit-log"
  | "derivation/bad-config-update"
  /** critical: see `depositsOnly` */
  | "derivation/already-deposits-only"
  /** the rollup config has an alternative data availability layer */
  | "derivation/alt-da-not-supported";

export interface DerivationPipeline {
  /** the L1 block whose data is being read; undefined before the first reset */
  readonly origin: L1BlockRef | undefined;
  /**
   * One step towards the block after `l2SafeHead` (the pending safe head).
   *
   * - `value`: attributes on `l2SafeHead`; do not step again before they are processed, or dropped
   * - `again`: progress was made, step again
   * - `exhausted`: L1 has no further block; step again when it has
   * - `reset`: find the heads again (`findSyncStart`), set them in the engine, then call `reset`
   *
   * Rejects when a provider does, or with a `CodedError<DerivationErrorCode>`; `isCriticalDerivationError` says whether retrying
   * (with backoff) can help. After a rejection nothing is lost.
   */
  step(l2SafeHead: L2BlockRef): Promise<Pull<DerivedAttributes>>;
  /**
   * Starts over so that the block after `l2SafeHead` comes next: walks back to the L1 block from which all channels that can hold
   * it are read. Rejects like `step`; the pipeline then needs another `reset`.
   */
  reset(l2SafeHead: L2BlockRef): Promise<void>;
  /** Forward invalidation (Holocene): gives up the rest of the span batch and of the channel being read. */
  flushChannel(): void;
  /**
   * What replaces attributes that the engine found invalid, with Holocene: only their deposits. Flushes the channel.
   *
   * @throws {CodedError} derivation/already-deposits-only: critical, deposits cannot be invalid
   */
  depositsOnly(rejected: DerivedAttributes): DerivedAttributes;
}

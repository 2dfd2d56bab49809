import { codedErrors, type Hex } from "@rnode/primitives";
import type { BlockId, L1BlockRef, L2BlockRef, PayloadAttributes } from "@rnode/protocol";
import type { BlobProvider, DaInputs, Decompressor, L1Provider, L2Provider } from "./l1/providers.ts";
import type { DerivationObserver } from "./observer.ts";
import type { Pull } from "./pull.ts";

export interface DerivationProviders {
  readonly l1: L1Provider;
  readonly blobs: BlobProvider;
  readonly l2: L2Provider;
  readonly decompressor: Decompressor;
  /** needed by a rollup whose data is kept outside of L1 */
  readonly daInputs?: DaInputs | undefined;
  /** any subset of the observer's methods */
  readonly observer?: Partial<DerivationObserver> | undefined;
}

/** The attributes that were derived for the next block. */
export interface DerivedAttributes {
  readonly attributes: PayloadAttributes;
  readonly parent: L2BlockRef;
  /** once the block is in place, it and the pending-safe blocks below it become safe ("concluding") */
  readonly isLastInSpan: boolean;
  /** the L1 block that was being read */
  readonly derivedFrom: L1BlockRef;
  /**
   * what to do with an invalid block, by the rules at `derivedFrom`: rebuild it with only its deposits (true), or drop its batch
   */
  readonly isReplacedIfInvalid: boolean;
}

export type DerivationErrorCode =
  /** `step` was called before a successful `reset` */
  | "derivation/not-reset"
  /** the engine does not have an L2 block that it must have; temporary */
  | "derivation/l2-block-missing"
  /** the engine lacks a block before the safe head that is needed as a start: `number`, `safe`, `l1Blocks`; temporary */
  | "derivation/start-block-missing"
  /** L1 does not have the block that an L2 block names as its origin; the caller must find other heads (sync start) */
  | "derivation/l1-origin-missing"
  /** the DA server lacks the data of a commitment on L1, and L1 has not decided about it yet; temporary */
  | "derivation/da-input-pending"
  | CriticalDerivationErrorCode;

type CriticalDerivationErrorCode =
  /** fewer L1 blocks are buffered than the safe head needs (reset was called with another head) */
  | "derivation/l1-blocks-missing"
  /** see `depositsOnly` */
  | "derivation/already-deposits-only"
  /** the rollup keeps its data outside of L1, and there is no DA server to read it from */
  | "derivation/da-server-missing"
  /** data is missing that can no longer be challenged, or that a challenge has resolved */
  | "derivation/da-input-lost";

export class DerivationError extends codedErrors<DerivationErrorCode, CriticalDerivationErrorCode>(
  {
    "derivation/not-reset": "the pipeline has no position yet",
    "derivation/l2-block-missing": "the execution client does not have L2 block {number}, which it must have",
    "derivation/start-block-missing":
      "deriving from safe block {safe} begins at a block whose L1 origin is {l1Blocks} L1 blocks older, as a channel may be open for so long; the execution client does not have block {number} on the way there. If its database began with a snapshot, that had too few blocks: restore one that rengine snapshot create makes without --blocks, or start from the genesis",
    "derivation/l1-origin-missing": "L1 does not have the block that an L2 block names as its origin",
    "derivation/da-input-pending":
      "the DA server does not have the data of commitment {commitment} in L1 block {l1Block}; waiting for it, or for a challenge",
  },
  {
    "derivation/l1-blocks-missing": "fewer L1 blocks are known than the safe head needs: {known}",
    "derivation/already-deposits-only": "the execution client refuses a block that has only deposits, on block {parent}",
    "derivation/da-server-missing":
      "the rollup config has alt_da, so its data is not on L1: give the server that has it with --altda.enabled and --altda.da-server",
    "derivation/da-input-lost":
      "the DA server does not have the data of commitment {commitment} in L1 block {l1Block}, which can no longer be challenged: give a server that has it with --altda.da-server",
  },
) {}

/**
 * The parent of the next batch. With it, `step` may be called with a block that is derived but not built yet.
 *
 * - `unnamed`: no parent hash. The batch is in an accepted span batch, and any value can replace the block's hash
 * - a hash: it is a singular batch, and the result of `step` is valid if the block gets this hash
 */
export type NextParent = "unnamed" | Hex;

/** Since when a block was the safe head. */
export interface SafeSince {
  /** the canonical L1 block with its batch, or at whose end its sequencing window was over */
  readonly l1Block: BlockId;
  /** whether all of that L1 block was read, and it still was the safe head */
  readonly isWhole: boolean;
}

export interface DerivationPipeline {
  /** the L1 block whose data is being read; undefined before the first reset */
  readonly origin: L1BlockRef | undefined;
  /** `undefined`: the next batch is not read yet, or several are possible */
  readonly nextParent: NextParent | undefined;
  /**
   * Runs one step towards the block after `l2SafeHead` (the pending safe head).
   *
   * - `value`: attributes on `l2SafeHead`; do not step again before they are processed or dropped
   * - `again`: progress was made, step again
   * - `exhausted`: L1 has no further block; step again when it has
   * - `reset`: find the heads again (`findSyncStart`), set them in the engine, then call `reset`
   *
   * Rejects if a provider rejects, or with a `DerivationError`; `isCriticalError` shows whether a retry (with backoff) cannot
   * help. A rejection loses no data.
   */
  step(l2SafeHead: L2BlockRef): Promise<Pull<DerivedAttributes>>;
  /**
   * Restarts so that the block after `l2SafeHead` is derived next. Walks back to the L1 block from which every channel that can
   * contain this block is read. Rejects like `step`; the pipeline then needs another `reset`.
   *
   * @param madeSafeBy position at which `l2SafeHead` became the safe head, if known. From Holocene on, an invalid batch ends its
   * channel, and a later reader cannot see that it was invalid or too early. With this position, earlier batches are not
   * considered a second time
   */
  reset(l2SafeHead: L2BlockRef, madeSafeBy?: SafeSince): Promise<void>;
  /**
   * The L1 block that counts as final if L1 has finalized another one: an earlier one, if data outside of L1 can be challenged.
   * `undefined`: none yet. Rejects if a provider rejects.
   */
  finalizedBy(l1Finalized: BlockId): Promise<BlockId | undefined>;
  /**
   * Holocene's replacement for attributes that the engine found invalid: the same with their deposits only. The rest of the span batch
   * and of the channel being read is dropped.
   *
   * @throws {CodedError} derivation/already-deposits-only: critical, as deposits cannot be invalid
   */
  depositsOnly(rejected: DerivedAttributes): DerivedAttributes;
}

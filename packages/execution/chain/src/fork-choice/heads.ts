import { bytesToHex, hexToBytes, isZeroBytes, ZERO_HASH } from "@rnode/primitives";
import type { BlockId, ChainConfig } from "@rnode/protocol";
import type { ChainStoreReader, ChainStoreWriter, Labels } from "@rnode/storage";
import type { BlockSums, ForkchoiceResult, ForkchoiceState, HeadChange, StoredBlock } from "../api.ts";
import type { ChainMetrics } from "../chain-metrics.ts";
import { type ExecutedBlock, storedBlockOf } from "../execute/executed-block.ts";
import { LazyHeadChange, sumsOf } from "../head-change.ts";
import type { BlockExecutor } from "./block-executor.ts";
import type { Branch } from "./branches.ts";
import { changedLabels, checkLabels } from "./labels.ts";
import { invalidStatus, SYNCING, updated, validStatus } from "./payload-status.ts";

export interface HeadsDeps {
  readonly config: ChainConfig;
  readonly store: ChainStoreReader & ChainStoreWriter;
  readonly blocks: BlockExecutor;
  readonly metrics: ChainMetrics;
  /** called before the head changes: an open build reads the state that is about to change */
  readonly suspendBuilds: () => void;
}

/** Decides which block is the head, stores its branch, and tells the listeners. */
export class Heads {
  readonly #deps: HeadsDeps;
  readonly #listeners = new Set<(change: HeadChange) => void>();
  /** blocks that were built here on request, and not from what L1 or a peer has */
  readonly #built = new WeakSet<ExecutedBlock>();

  constructor(deps: HeadsDeps) {
    this.#deps = deps;
  }

  get latest(): BlockId {
    return this.#deps.store.head()!;
  }

  /** Moves the head and the labels. */
  choose(state: ForkchoiceState): Exclude<ForkchoiceResult, { kind: "invalid-attributes" }> {
    const { blocks, config, store } = this.#deps;
    if (isZeroBytes(state.headBlockHash)) {
      return updated({ status: "INVALID", latestValidHash: null, validationError: "head block hash is zero" });
    }
    const headHex = bytesToHex(state.headBlockHash);
    const known = blocks.invalid(headHex);
    if (known !== undefined) return updated(invalidStatus(known.latestValidHash, known.fault));
    const branch = blocks.branchOf(headHex);
    if (branch === undefined) return updated(SYNCING);

    const labels = checkLabels(store, state, branch, (hash) => blocks.branches.header(hash)?.number);
    if (labels.kind === "invalid-state") return labels;
    const isRewind = branch.blocks.length === 0 && branch.forkPoint.hash !== this.latest.hash;
    // An Ethereum chain ignores a head that is an ancestor of its own; an OP Stack chain goes back to it. Spec:
    // docs/protocol/01-execution.md#engine-semantics
    if (isRewind && config.optimism === undefined) return updated(validStatus(headHex));
    if (this.#isTooDeep(branch.forkPoint)) return { kind: "invalid-state", reason: "reorganisation-too-deep" };
    this.move(branch, labels.labels);
    return updated(validStatus(headHex));
  }

  /** `choose` without labels. @returns why the block cannot be the head; undefined: it is */
  chooseHead(headBlockHash: Uint8Array): string | undefined {
    const chosen = this.choose({ headBlockHash, safeBlockHash: ZERO_HASH, finalizedBlockHash: ZERO_HASH });
    if (chosen.kind === "invalid-state") return chosen.reason;
    return chosen.status.status === "VALID" ? undefined : chosen.status.status;
  }

  /** Makes the last block of a branch the head, in one commit. */
  move({ forkPoint, blocks: added }: Branch, labels: Labels): void {
    const { blocks, metrics, store, suspendBuilds } = this.#deps;
    const before = this.latest;
    const changed = changedLabels(store, labels);
    if (added.length === 0 && forkPoint.hash === before.hash) {
      if (Object.keys(changed).length > 0) store.writeLabels(changed);
      return;
    }
    suspendBuilds();
    const removed: StoredBlock[] = [];
    for (let number = before.number; number > forkPoint.number; number--) {
      const block = blocks.branches.storedBlock(store.readCanonicalHash(number)!)!;
      removed.push(block);
      blocks.addRemoved(block);
    }
    const startMs = performance.now();
    const stopTimer = metrics.commit.time();
    // A block that was built here may exist nowhere else, and others may have been told of it.
    const isFlushed = added.some((block) => this.#built.has(block)) ? true : undefined;
    if (removed.length === 0 && added.length === 1) store.commitBlock(added[0]!, changed, { isFlushed });
    else store.reorganize(forkPoint.number, added, changed, { isFlushed });
    stopTimer();
    const elapsedMs = blocks.spentMs + performance.now() - startMs;
    blocks.spentMs = 0;
    blocks.trim();
    const stored = added.map(storedBlockOf);
    const head = stored.at(-1) ?? blocks.branches.storedBlock(hexToBytes(forkPoint.hash))!;
    const addedHashes = added.map(({ hash }) => hash);
    this.announce({ head, removed, added: stored, addedHashes, addedSums: sumsOf(added.map(({ block }) => block)), elapsedMs });
  }

  /** The store flushes this block to the disk when it becomes canonical. */
  addBuilt(executed: ExecutedBlock): void {
    this.#built.add(executed);
  }

  announce(change: HeadChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** For a group of blocks, which are read from the store only if a listener looks at them. */
  announceStored(hashes: readonly Uint8Array[], sums: BlockSums): void {
    if (this.#listeners.size === 0) return;
    const { branches } = this.#deps.blocks;
    const source = {
      head: () => branches.storedBlock(hexToBytes(this.latest.hash))!,
      block: (hash: Uint8Array) => branches.storedBlock(hash),
      miss: () => undefined,
    };
    this.announce(new LazyHeadChange([], hashes, source, sums));
  }

  onChange(listener: (change: HeadChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#listeners.clear();
  }

  /** Whether the store has pruned the history that the reorg needs, or the data that a head needs. */
  #isTooDeep({ number, hash }: BlockId): boolean {
    if (hash === this.latest.hash) return false;
    const retained = this.#deps.store.retainedHistory();
    return retained !== undefined && number < Math.max(retained.oldestProof, retained.oldestReceipts);
  }
}

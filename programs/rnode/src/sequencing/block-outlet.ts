import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock, type Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { type Trouble, temporary } from "../common/progress.ts";
import { failureText, within } from "../common/within.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { BlockGossip, Published, Signed } from "./block-gossip.ts";
import type { Leadership } from "./leadership.ts";

export interface BlockOutletDeps {
  readonly leadership: Pick<Leadership, "consent">;
  readonly gossip: BlockGossip;
  readonly control: Pick<EngineControl, "insert">;
  readonly clock: Clock;
  /** A remote signer has a shorter limit, with a more exact error. */
  readonly signLimitMs: number;
  readonly log: Logger;
  readonly metrics: { publishingError(): void };
}

export type Commit =
  /** other nodes may have the block, and our own engine has it */
  | { readonly kind: "committed" }
  /** another sequencer makes the blocks, so this one was not released */
  | { readonly kind: "notLeader" }
  /** a stop or a reset came first, so the block was not released */
  | { readonly kind: "fenced" }
  /** the engine says that it cannot be a block of this chain, and trying again would not change that */
  | { readonly kind: "refused"; readonly reason: string }
  /** try again with the same block */
  | Trouble;

/** A conductor has a separate limit, `--conductor.rpc-timeout`. Spec: docs/protocol/05-services.md#sequencing */
const CONSENT_LIMIT_MS = 30_000;
const PUBLISH_LIMIT_MS = 1_000;

/**
 * Publishes a block that this node sequenced: leadership first, then the signature, then gossip, then our own engine. Whatever
 * these do (reject, throw, never answer), the caller waits at most for their time limits.
 * A block that was published is always inserted into our engine, because another block at its height would contradict it. If
 * gossip rejects a block, the chain continues: leadership may have committed it, and other nodes derive it from L1. A block that
 * cannot be signed now waits, because peers reject unsigned blocks; it is never sent without its signature.
 */
export class BlockOutlet {
  private readonly deps: BlockOutletDeps;
  private gate = new AbortController();
  /** the last block that leadership was asked about: it may have taken the block, whatever became of its answer */
  private offeredHash: Hex | undefined;
  /** the last block that other nodes may have */
  private publishedHash: Hex | undefined;

  constructor(deps: BlockOutletDeps) {
    this.deps = deps;
  }

  /** Must be called before a block is sealed. The signal is aborted by the next `fence`. */
  fenceSignal(): AbortSignal {
    return this.gate.signal;
  }

  /** Blocks whose `fenceSignal` is older than this call can no longer be released. */
  fence(): void {
    this.gate.abort();
    this.gate = new AbortController();
  }

  /** Whether other nodes may have the block. If so, it must not be replaced by a different one. */
  hasBeenPublished(hash: Hex): boolean {
    return this.publishedHash === hash;
  }

  /**
   * Whether another sequencer may continue from the block although it was not published: leadership may have committed it, and
   * the answer was lost. While this node leads and builds on the same parent, it should not be replaced by a different block.
   */
  mayBeCommitted(hash: Hex): boolean {
    return this.offeredHash === hash || this.hasBeenPublished(hash);
  }

  async commit(envelope: ExecutionPayloadEnvelope, fenced: AbortSignal): Promise<Commit> {
    const hash = bytesToHex(envelope.executionPayload.blockHash);
    if (!this.hasBeenPublished(hash)) {
      const held = await this.askLeadership(envelope, hash, fenced);
      if (held !== undefined) return held;
      const { signed, failure } = await this.sign(envelope, fenced);
      if (failure !== undefined) return failure;
      await this.publish(envelope, hash, signed);
    }
    const inserted = await this.deps.control.insert(envelope);
    if (inserted.kind === "inserted") return { kind: "committed" };
    return inserted.kind === "invalid" ? { kind: "refused", reason: inserted.reason } : inserted;
  }

  /** @returns why the block must not be published; undefined: it may */
  private async askLeadership(envelope: ExecutionPayloadEnvelope, hash: Hex, fenced: AbortSignal): Promise<Commit | undefined> {
    const { leadership, clock } = this.deps;
    const answer = await within({ clock, limitMs: CONSENT_LIMIT_MS, stop: fenced }, (signal) => {
      this.offeredHash = hash;
      return leadership.consent(envelope, signal);
    });
    if (fenced.aborted) return { kind: "fenced" };
    if (answer.kind !== "done") return temporary(`leadership: ${failureText(answer, CONSENT_LIMIT_MS)}`);
    if (answer.value === "leader") return undefined;
    this.offeredHash = undefined;
    return { kind: "notLeader" };
  }

  /** @returns the signature, if the network wants one, or why the block must not be released */
  private async sign(
    envelope: ExecutionPayloadEnvelope,
    fenced: AbortSignal,
  ): Promise<{ readonly signed?: Signed; readonly failure?: Commit }> {
    const { gossip, clock, signLimitMs } = this.deps;
    if (gossip.sign === undefined) return {};
    const answer = await within({ clock, limitMs: signLimitMs, stop: fenced }, (signal) => gossip.sign!(envelope, signal));
    if (fenced.aborted) return { failure: { kind: "fenced" } };
    if (answer.kind !== "done") return { failure: temporary(`signing: ${failureText(answer, signLimitMs)}`) };
    return { signed: answer.value };
  }

  /** From here on, other nodes may have the block, whatever becomes of it. */
  private async publish(envelope: ExecutionPayloadEnvelope, hash: Hex, signed: Signed | undefined): Promise<void> {
    const { gossip, clock, log, metrics } = this.deps;
    this.publishedHash = hash;
    const answer = await within({ clock, limitMs: PUBLISH_LIMIT_MS }, (signal) => gossip.publish(envelope, signal, signed));
    const published: Published =
      answer.kind === "done" ? answer.value : { kind: "refused", reason: failureText(answer, PUBLISH_LIMIT_MS) };
    if (published.kind === "published") return;
    metrics.publishingError();
    const { reason } = published;
    log.warn("the new block could not be published", { number: envelope.executionPayload.blockNumber, hash, reason });
  }
}

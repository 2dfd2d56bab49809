import type { Logger } from "@rnode/observe";
import { bytesToHex, type Clock, type Hex } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { BlockGossip } from "./block-gossip.ts";
import type { EngineControl } from "./engine-control.ts";
import type { Leadership } from "./leadership.ts";
import { type Trouble, temporary } from "./progress.ts";
import { type Within, within } from "./within.ts";

export interface BlockOutletDeps {
  readonly leadership: Leadership;
  readonly gossip: BlockGossip;
  readonly control: Pick<EngineControl, "insert">;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: { publishingError(): void };
}

export type Commit =
  /** others can have it, and our own engine has it */
  | { readonly kind: "committed" }
  /** another sequencer makes the blocks: this one went nowhere */
  | { readonly kind: "notLeader" }
  /** a stop or a reset came first: the block went nowhere */
  | { readonly kind: "fenced" }
  /** it cannot be a block of the chain, and does not become one by trying again */
  | { readonly kind: "refused"; readonly by: "network" | "engine"; readonly reason: string }
  /** try again with the same block */
  | Trouble;

const CONSENT_LIMIT_MS = 5_000;
const PUBLISH_LIMIT_MS = 1_000;

/**
 * The one way out for a block that this node sequenced: leadership, then gossip, then our own engine. Nothing that these do (refuse,
 * throw, never answer) holds the caller for longer than their limits.
 *
 * What has left is inserted, whatever happens: another block at its height would contradict it. A network that does not take a block
 * does not stop the chain: others find the block on L1.
 */
export class BlockOutlet {
  private readonly deps: BlockOutletDeps;
  private gate = new AbortController();
  /** the last block that others may have */
  private left: Hex | undefined;

  constructor(deps: BlockOutletDeps) {
    this.deps = deps;
  }

  /** To be taken before a block is sealed: aborted by the first `fence` after that. */
  pass(): AbortSignal {
    return this.gate.signal;
  }

  /** From now on, no block leaves that was begun before. */
  fence(): void {
    this.gate.abort();
    this.gate = new AbortController();
  }

  /** Whether others may have the block, so that it must not be replaced by another one. */
  hasLeft(hash: Hex): boolean {
    return this.left === hash;
  }

  async commit(envelope: ExecutionPayloadEnvelope, pass: AbortSignal): Promise<Commit> {
    const hash = bytesToHex(envelope.executionPayload.blockHash);
    if (!this.hasLeft(hash)) {
      const held = (await this.askLeadership(envelope, pass)) ?? (await this.publish(envelope, hash));
      if (held !== undefined) return held;
    }
    const inserted = await this.deps.control.insert(envelope);
    if (inserted.kind === "inserted") return { kind: "committed" };
    return inserted.kind === "invalid" ? { kind: "refused", by: "engine", reason: inserted.reason } : inserted;
  }

  /** @returns why the block does not go out */
  private async askLeadership(envelope: ExecutionPayloadEnvelope, pass: AbortSignal): Promise<Commit | undefined> {
    const { leadership, clock } = this.deps;
    const answer = await within({ clock, limitMs: CONSENT_LIMIT_MS, stop: pass }, (signal) => leadership.consent(envelope, signal));
    if (pass.aborted) return { kind: "fenced" };
    if (answer.kind !== "settled") return temporary(`leadership: ${failureText(answer, CONSENT_LIMIT_MS)}`);
    return answer.value === "leader" ? undefined : { kind: "notLeader" };
  }

  /** @returns why the block does not go out */
  private async publish(envelope: ExecutionPayloadEnvelope, hash: Hex): Promise<Commit | undefined> {
    const { gossip, clock, log, metrics } = this.deps;
    this.left = hash;
    const answer = await within({ clock, limitMs: PUBLISH_LIMIT_MS }, (signal) => gossip.publish(envelope, signal));
    if (answer.kind !== "settled") {
      metrics.publishingError();
      const reason = failureText(answer, PUBLISH_LIMIT_MS);
      log.warn("the new block could not be published", { number: envelope.executionPayload.blockNumber, hash, reason });
      return undefined;
    }
    if (answer.value.kind === "published") return undefined;
    metrics.publishingError();
    this.left = undefined;
    return { kind: "refused", by: "network", reason: answer.value.reason };
  }
}

function failureText(answer: Exclude<Within<unknown>, { kind: "settled" }>, limitMs: number): string {
  if (answer.kind !== "failed") return `no answer within ${limitMs / 1_000} s`;
  return answer.error instanceof Error ? answer.error.message : String(answer.error);
}

import type { Logger } from "@rnode/observe";
import { type Clock, type Hex, hexToBytes } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { Heads } from "../common/heads.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";

/** Blocks that are missing between the unsafe head and a payload that waits for its ancestors; hashes have 32 bytes. */
export interface MissingBlocks {
  readonly start: { readonly number: number; readonly hash: Uint8Array };
  readonly end: { readonly number: number; readonly hash: Uint8Array; readonly parentHash: Uint8Array };
}

export interface UnsafeGapDeps {
  readonly config: Pick<RollupConfig, "blockTimeSec">;
  readonly control: { readonly headsIfKnown: Pick<Heads, "unsafe"> | undefined };
  readonly inbox: Pick<UnsafeInbox, "peek" | "queuedCount">;
  /**
   * Asks other nodes for the blocks, which then arrive in the inbox, highest first. Asking again costs nothing. `undefined` without a
   * network, or if requests are switched off.
   */
  readonly request: ((missing: MissingBlocks) => void) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many block times the unsafe head has to stand still before a gap is more than blocks that arrive in another order. */
const BLOCK_TIMES = 2;
/** After this many checks without progress, the time until the next one doubles each time. */
const PATIENT_CHECKS = 6;
const MAX_DOUBLINGS = 6;

/**
 * Fetches the blocks between the unsafe head and the lowest queued payload, which gossip did not bring. Peers are asked first. If
 * the gap is unchanged at the next check, no peer answers (op-node does not since 2026), and the payload is sent to the engine,
 * which syncs from its own peers. Spec: docs/protocol/03-p2p.md#request-response-payload-by-number
 */
export class UnsafeGap {
  private readonly deps: UnsafeGapDeps;
  private lastHead: Hex | undefined;
  /** of the last check, or of the last change of the head; monotonic milliseconds */
  private checkedMs = 0;
  /** the gap for which peers were asked last */
  private asked: { readonly head: Hex; readonly lowest: number } | undefined;
  /** checks since the gap changed, or a payload arrived, the last time */
  private idleChecks = 0;
  /** payloads that had arrived at the last check */
  private queuedCount = 0;
  private forEngine: Hex | undefined;

  constructor(deps: UnsafeGapDeps) {
    this.deps = deps;
  }

  /**
   * @param isDerivationReady false: the heads are being searched, and the gap is unknown
   * @returns whether there is a payload for the engine: `takeForEngine` returns it
   */
  turn(isDerivationReady: boolean): boolean {
    const { control, inbox, request, clock, log } = this.deps;
    const head = control.headsIfKnown?.unsafe;
    const nowMs = clock.monotonicMs();
    if (head === undefined || !isDerivationReady || head.hash !== this.lastHead) {
      this.lastHead = head?.hash;
      this.checkedMs = nowMs;
      this.idleChecks = 0;
      this.forEngine = undefined;
      return false;
    }
    const lowest = inbox.peek()?.ref;
    if (lowest === undefined || nowMs < this.checkAtMs) return false;
    this.checkedMs = nowMs;
    if (lowest.number <= head.number + 1) return false;
    const { number, hash, parentHash } = lowest;
    const { asked } = this;
    const isUnchanged = asked?.head === head.hash && asked.lowest <= number;
    const isUnanswered = request === undefined || isUnchanged;
    this.idleChecks = isUnchanged && inbox.queuedCount === this.queuedCount ? this.idleChecks + 1 : 0;
    this.queuedCount = inbox.queuedCount;
    this.asked = { head: head.hash, lowest: number };
    log.debug("blocks are missing", { after: head.number, before: number, asked: isUnanswered ? "the engine" : "peers" });
    request?.({
      start: { number: head.number, hash: hexToBytes(head.hash) },
      end: { number, hash: hexToBytes(hash), parentHash: hexToBytes(parentHash) },
    });
    if (isUnanswered) this.forEngine = hash;
    return isUnanswered;
  }

  /** Whether the engine is to get this payload although its parent is missing; true once per check. */
  takeForEngine(hash: Hex): boolean {
    if (this.forEngine !== hash) return false;
    this.forEngine = undefined;
    return true;
  }

  /** undefined: no queued payload can have a gap below it */
  dueInMs(): number | undefined {
    return this.deps.inbox.peek() === undefined ? undefined : Math.max(0, this.checkAtMs - this.deps.clock.monotonicMs());
  }

  /**
   * A payload whose ancestors no node has, for example one that is signed far ahead, is requested less often than at every check.
   * Arriving blocks show that there are peers again, which ends the pause.
   */
  private get checkAtMs(): number {
    const isQuiet = this.deps.inbox.queuedCount === this.queuedCount;
    const doublings = isQuiet ? Math.min(Math.max(0, this.idleChecks - PATIENT_CHECKS), MAX_DOUBLINGS) : 0;
    return this.checkedMs + this.intervalMs * 2 ** doublings;
  }

  private get intervalMs(): number {
    return BLOCK_TIMES * 1_000 * this.deps.config.blockTimeSec;
  }
}

import type { Logger } from "@rnode/observe";
import { type Clock, type Hex, hexToBytes } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import type { Heads } from "./heads.ts";
import type { UnsafeInbox } from "./unsafe-inbox.ts";

/** Blocks that are missing between the unsafe head and a payload that waits for its ancestors; hashes have 32 bytes. */
export interface MissingBlocks {
  readonly start: { readonly number: number; readonly hash: Uint8Array };
  readonly end: { readonly number: number; readonly hash: Uint8Array; readonly parentHash: Uint8Array };
}

export interface UnsafeGapDeps {
  readonly config: Pick<RollupConfig, "blockTimeSec">;
  readonly control: { readonly headsIfKnown: Pick<Heads, "unsafe"> | undefined };
  readonly inbox: Pick<UnsafeInbox, "peek">;
  /** Asks other nodes for the blocks, which then arrive in the inbox, in any order. Asking again costs nothing. */
  readonly request: (missing: MissingBlocks) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How many block times the unsafe head has to stand still before a gap is more than blocks that arrive in another order. */
const BLOCK_TIMES = 2;

/**
 * Has the blocks fetched that gossip did not bring: those between the unsafe head and the lowest payload that waits.
 * Spec: docs/protocol/03-p2p.md#request-response-payload-by-number
 */
export class UnsafeGap {
  private readonly deps: UnsafeGapDeps;
  private lastHead: Hex | undefined;
  private checkAtMs = 0;

  constructor(deps: UnsafeGapDeps) {
    this.deps = deps;
  }

  /** @param isDerivationReady false: the heads are being searched, and what is missing is not known */
  turn(isDerivationReady: boolean): void {
    const { control, inbox, request, clock, log } = this.deps;
    const head = control.headsIfKnown?.unsafe;
    const nowMs = clock.monotonicMs();
    if (head === undefined || !isDerivationReady || head.hash !== this.lastHead) {
      this.lastHead = head?.hash;
      this.checkAtMs = nowMs + this.intervalMs;
      return;
    }
    const lowest = inbox.peek()?.ref;
    if (lowest === undefined || nowMs < this.checkAtMs) return;
    this.checkAtMs = nowMs + this.intervalMs;
    if (lowest.number <= head.number + 1) return;
    log.debug("asking peers for missing blocks", { after: head.number, before: lowest.number });
    const { number, hash, parentHash } = lowest;
    request({
      start: { number: head.number, hash: hexToBytes(head.hash) },
      end: { number, hash: hexToBytes(hash), parentHash: hexToBytes(parentHash) },
    });
  }

  /** undefined: nothing waits that could have a gap below it */
  dueInMs(): number | undefined {
    return this.deps.inbox.peek() === undefined ? undefined : Math.max(0, this.checkAtMs - this.deps.clock.monotonicMs());
  }

  private get intervalMs(): number {
    return BLOCK_TIMES * 1_000 * this.deps.config.blockTimeSec;
  }
}

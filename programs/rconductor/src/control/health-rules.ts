import type { Fitness } from "../cluster/records.ts";

export interface HealthOptions {
  /** between two checks, in seconds */
  readonly intervalSec: number;
  /** maximum age of the unsafe head, in seconds */
  readonly unsafeIntervalSec: number;
  readonly safeEnabled: boolean;
  /** maximum age of the safe head, in seconds */
  readonly safeIntervalSec: number;
  /** 0: the number of peers is not checked */
  readonly minPeerCount: number;
  /** of the execution client */
  readonly executionP2pMinPeerCount: number;
}

interface HeadSample {
  readonly number: number;
  readonly timestampSec: number;
}

/** The answers of a rollup node and its execution client at one time. Each part is an answer, or the reason why there is none. */
export interface HealthSample {
  readonly sync: { readonly unsafe: HeadSample; readonly safe: HeadSample } | { readonly error: string };
  /** undefined: not queried */
  readonly peers: { readonly connected: number } | { readonly error: string } | undefined;
  /** of the execution client; undefined: not queried */
  readonly executionPeers?: { readonly connected: number } | { readonly error: string } | undefined;
  /** head of the execution client */
  readonly engine: { readonly number: number } | { readonly error: string };
}

export interface HealthVerdict {
  /**
   * healthy; stalled: the chain makes no progress, and the cause may be elsewhere; unfit: this sequencer should not lead; down:
   * its programs do not answer
   */
  readonly fitness: Fitness;
  readonly reasons: readonly string[];
}

/** An execution client may be so many blocks behind its rollup node for a short time. */
const MAX_ENGINE_LAG = 3;

/** The rules of upstream's health monitor, and that the execution client answers and keeps up with the rollup node. */
export class HealthRules {
  readonly #options: HealthOptions;
  readonly #blockTimeSec: number;
  #lastUnsafe: { readonly number: number; readonly atMs: number } | undefined;
  #hasProgressed = false;

  constructor(options: HealthOptions, blockTimeSec: number) {
    this.#options = options;
    this.#blockTimeSec = blockTimeSec;
  }

  /** Whether the unsafe head has moved in time. */
  get hasProgressed(): boolean {
    return this.#hasProgressed;
  }

  /** @param monotonicMs time that never jumps; @param nowSec seconds since 1970, with which blocks' times are compared */
  judge({ sync, peers, executionPeers, engine }: HealthSample, monotonicMs: number, nowSec: number): HealthVerdict {
    if ("error" in sync) return { fitness: "down", reasons: [`the rollup node does not answer: ${sync.error}`] };
    const { unsafe, safe } = sync;
    const stalls = this.#stalls(unsafe, monotonicMs, nowSec);
    if ("error" in engine) return { fitness: "down", reasons: [`the execution client does not answer: ${engine.error}`] };
    if (peers !== undefined && "error" in peers) return { fitness: "down", reasons: [`peers cannot be counted: ${peers.error}`] };
    const { safeEnabled, safeIntervalSec, minPeerCount, executionP2pMinPeerCount } = this.#options;
    const faults: string[] = [];
    if (engine.number + MAX_ENGINE_LAG < unsafe.number)
      faults.push(`the execution client is at block ${engine.number}, the rollup node at ${unsafe.number}`);
    if (safeEnabled && nowSec - safe.timestampSec > safeIntervalSec)
      faults.push(`the safe head is ${Math.round(nowSec - safe.timestampSec)} s behind, more than ${safeIntervalSec} s`);
    if (peers !== undefined && peers.connected < minPeerCount)
      faults.push(`${peers.connected} peers are connected, fewer than ${minPeerCount}`);
    if (executionPeers !== undefined && "error" in executionPeers)
      faults.push(`peers of the execution client cannot be counted: ${executionPeers.error}`);
    else if (executionPeers !== undefined && executionPeers.connected < executionP2pMinPeerCount)
      faults.push(
        `${executionPeers.connected} peers are connected to the execution client, fewer than ${executionP2pMinPeerCount}`,
      );
    if (faults.length > 0) return { fitness: "unfit", reasons: [...faults, ...stalls] };
    return { fitness: stalls.length > 0 ? "stalled" : "healthy", reasons: stalls };
  }

  #stalls(unsafe: HeadSample, monotonicMs: number, nowSec: number): string[] {
    const stalls: string[] = [];
    const last = this.#lastUnsafe;
    if (last === undefined || unsafe.number !== last.number) this.#lastUnsafe = { number: unsafe.number, atMs: monotonicMs };
    // One block less than time allows is expected, as in upstream: blocks are not seen at the moment they are made.
    const waitedSec = last === undefined || unsafe.number !== last.number ? 0 : (monotonicMs - last.atMs) / 1000;
    this.#hasProgressed = Math.floor(waitedSec / this.#blockTimeSec) < 2;
    if (!this.#hasProgressed) stalls.push(`the unsafe head has been at ${unsafe.number} for ${Math.floor(waitedSec)} s`);
    const behindSec = nowSec - unsafe.timestampSec;
    if (behindSec > this.#options.unsafeIntervalSec)
      stalls.push(`the unsafe head is ${Math.round(behindSec)} s behind, more than ${this.#options.unsafeIntervalSec} s`);
    return stalls;
  }
}

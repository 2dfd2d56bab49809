import { getHeapStatistics } from "node:v8";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { P2PConfig } from "../network.ts";
import type { P2PMetrics } from "../p2p-metrics.ts";
import type { ApplicationScoring } from "./application-scores.ts";
import type { Bandwidth } from "./bandwidth.ts";
import type { GossipView } from "./gossip-view.ts";
import { type KnownPeer, MAX_KNOWN_PEERS, type PeerHost } from "./peer-host.ts";
import type { PeerProtection } from "./peer-protection.ts";
import { PeerPruner } from "./peer-pruner.ts";
import type { PeerRecords } from "./peer-records.ts";
import { ScoreMonitor } from "./score-monitor.ts";
import { takeSnapshot } from "./score-snapshot.ts";

/** Intervals. */
export interface PeerTiming {
  readonly snapshotMs: number;
  readonly banCheckMs: number;
  readonly pruneCheckMs: number;
}

const TIMING: PeerTiming = { snapshotMs: 15_000, banCheckMs: 1000, pruneCheckMs: 10_000 };
const GARBAGE_INTERVAL_MS = 2 * 3_600_000;
const FORGET_INTERVAL_MS = 10 * 60_000;
/** Above this share, the heap of this thread is nearly full. */
const HEAP_PRESSURE = 0.85;

interface UpkeepDeps {
  readonly settings: P2PConfig["peers"];
  readonly slot: number;
  readonly timing: Partial<PeerTiming> | undefined;
  readonly isScoring: boolean;
  readonly host: PeerHost;
  readonly gossip: GossipView;
  readonly records: PeerRecords;
  readonly application: ApplicationScoring;
  readonly protection: PeerProtection;
  readonly isStatic: (peer: string) => boolean;
  readonly liveTopic: () => string;
  readonly bandwidth: Bandwidth;
  readonly clock: Clock;
  readonly metrics: P2PMetrics;
  readonly log: Logger;
}

/** Periodic work on peers: score decay, snapshots and bans, pruning of peers, deletion of old records. */
export class PeerUpkeep {
  readonly #deps: UpkeepDeps;
  readonly #monitor: ScoreMonitor;
  readonly #pruner: PeerPruner;
  readonly #closing = new AbortController();
  /** when peers were first seen to have sent invalid blocks, by peer; milliseconds */
  readonly #invalidSinceMs = new Map<string, number>();
  #loops: readonly Promise<void>[] = [];
  #stopListening: (() => void) | undefined;

  constructor(deps: UpkeepDeps) {
    this.#deps = deps;
    const { settings, host, gossip, records, protection, isStatic, clock, metrics, log } = deps;
    const disconnect = (peer: string): Promise<void> => host.disconnect(peer);
    this.#monitor = new ScoreMonitor({
      records,
      // without scoring, all there is are scores of former times
      ban: { ...settings.ban, enabled: settings.ban.enabled && deps.isScoring },
      isStatic,
      isJudgementConfirmed: (peer) => gossip.lastValidMs() > (this.#invalidSinceMs.get(peer) ?? Number.POSITIVE_INFINITY),
      connected: () => this.#connected(),
      disconnect,
      nowSec: () => Math.floor(clock.unixMs() / 1000),
      metrics,
      log,
    });
    this.#pruner = new PeerPruner({
      low: settings.low,
      high: settings.high,
      graceMs: settings.graceMs,
      connections: () => host.connections(),
      isProtected: (peer) => protection.isProtected(peer),
      worthOf: async (peer) => gossip.score(peer) + ((await host.knownPeer(peer))?.tagValue ?? 0),
      disconnect,
      isUnderPressure: isHeapNearlyFull,
      nowMs: () => clock.unixMs(), // as libp2p dates connections
      metrics,
      log,
    });
  }

  start(): void {
    const { slot, timing, host, records, clock } = this.#deps;
    const { snapshotMs, banCheckMs, pruneCheckMs } = { ...TIMING, ...timing };
    this.#stopListening = host.onConnection(() => void this.#prune());
    this.#loops = [
      this.#every(slot, () => this.#onSlot()),
      this.#every(snapshotMs, () => this.#snapshot()),
      this.#every(banCheckMs, () => this.#monitor.checkNext()),
      this.#every(pruneCheckMs, () => this.#prune()),
      this.#every(FORGET_INTERVAL_MS, () => this.#forgetPeers()),
      this.#every(GARBAGE_INTERVAL_MS, () => records.collectGarbage(Math.floor(clock.unixMs() / 1000))),
    ];
  }

  async close(): Promise<void> {
    this.#stopListening?.();
    this.#closing.abort();
    await Promise.all(this.#loops);
  }

  #connected(): readonly string[] {
    return [...this.#deps.host.connections().keys()];
  }

  #onSlot(): void {
    const { application, gossip, liveTopic, host, bandwidth, metrics } = this.#deps;
    gossip.setLiveTopic(liveTopic());
    const connections = host.connections();
    application.decay([...connections.keys()]);
    metrics.peerCount.set(connections.size);
    const streams = [...connections.values()].flat().reduce((sum, connection) => sum + connection.streams, 0);
    metrics.streamCount.set(streams);
    bandwidth.sample();
  }

  #snapshot(): void {
    const { isScoring, gossip, records, metrics, clock } = this.#deps;
    if (!isScoring) return;
    const connected = this.#connected();
    takeSnapshot(connected, gossip, Math.floor(clock.unixMs() / 1000), { records, metrics });
    const invalid = connected.filter(
      (peer) => (records.scores.get(peer)?.peerScores.gossip.blocks.invalidMessageDeliveries ?? 0) > 0,
    );
    for (const peer of this.#invalidSinceMs.keys()) if (!invalid.includes(peer)) this.#invalidSinceMs.delete(peer);
    for (const peer of invalid) if (!this.#invalidSinceMs.has(peer)) this.#invalidSinceMs.set(peer, clock.monotonicMs());
  }

  /** Bounds the number of known peers: deletes those of least value. */
  async #forgetPeers(): Promise<void> {
    const { host, protection } = this.#deps;
    const connections = host.connections();
    const known = await host.knownPeers(Number.MAX_SAFE_INTEGER - 1);
    const isKept = (peer: string): boolean => connections.has(peer) || protection.isProtected(peer);
    for (const peer of peersToForget(known, MAX_KNOWN_PEERS, isKept)) await host.forget(peer);
  }

  async #prune(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    try {
      await this.#pruner.prune();
    } catch (error) {
      this.#failed(error);
    }
  }

  async #every(ms: number, work: () => void | Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await this.#deps.clock.sleep(ms, signal);
      if (signal.aborted) return;
      try {
        await work();
      } catch (error) {
        this.#failed(error);
      }
    }
  }

  /** A peer that is just leaving, for example; the next round has another chance. */
  #failed(error: unknown): void {
    if (!this.#closing.signal.aborted) this.#deps.log.warn("upkeep of peers failed, and goes on", { error });
  }
}

/** The peers beyond `max`, those of least value first. */
export function peersToForget(
  known: readonly Pick<KnownPeer, "id" | "tagValue">[],
  max: number,
  isKept: (peer: string) => boolean,
): readonly string[] {
  if (known.length <= max) return [];
  const candidates = known.filter(({ id }) => !isKept(id)).sort((a, b) => a.tagValue - b.tagValue);
  return candidates.slice(0, known.length - max).map(({ id }) => id);
}

function isHeapNearlyFull(): boolean {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
  return used > limit * HEAP_PRESSURE;
}

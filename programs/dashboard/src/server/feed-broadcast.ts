import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { FeedMessage, FeedSource } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { FeedUpdate, HealthState, ProcessState, ProgramMessage } from "../messages.ts";
import type { DashboardSource, Viewer } from "./dashboard-server.ts";

export interface FeedBroadcastDeps {
  readonly feed: FeedSource;
  readonly clock: Clock;
  readonly health: () => HealthState;
}

const TICK_MS = 500;
/** State is read at every second tick. */
const TICKS_A_READING = 2;
const LOOP_RESOLUTION_MS = 20;

/** One program's feed for all viewers. Without viewers, no timer runs and nothing is read. */
export class FeedBroadcast implements DashboardSource {
  readonly #program: ProgramMessage;
  readonly #deps: FeedBroadcastDeps;
  readonly #viewers = new Set<Viewer>();
  #timer: NodeJS.Timeout | undefined;
  #loop: IntervalHistogram | undefined;
  #ticks = 0;

  constructor(program: ProgramMessage, deps: FeedBroadcastDeps) {
    this.#program = program;
    this.#deps = deps;
  }

  watch(viewer: Viewer): () => void {
    const { known, end } = this.#deps.feed.watch();
    viewer.send("program", JSON.stringify(this.#program));
    viewer.send("feed", this.#update(known));
    this.#viewers.add(viewer);
    this.#start();
    this.#readStates();
    return () => {
      end();
      this.#viewers.delete(viewer);
      if (this.#viewers.size === 0) this.close();
    };
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#loop?.disable();
    this.#loop = undefined;
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#loop = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
    this.#loop.enable();
    this.#timer = setInterval(() => {
      const changes = this.#deps.feed.changes();
      if (changes.entries.length > 0) this.#send(changes);
      if (++this.#ticks % TICKS_A_READING === 0) this.#readStates();
    }, TICK_MS);
  }

  #readStates(): void {
    const { feed, health } = this.#deps;
    this.#send({ entries: [["state", "health", health()], ["state", "process", this.#process()], ...feed.states()], left: 0 });
  }

  #process(): ProcessState {
    const { user, system } = process.cpuUsage();
    const lag = this.#loop === undefined || this.#loop.count === 0 ? 0 : this.#loop.max / 1e6 - LOOP_RESOLUTION_MS;
    this.#loop?.reset();
    return {
      memoryBytes: process.memoryUsage.rss(),
      cpuSeconds: (user + system) / 1e6,
      upSeconds: Math.floor(process.uptime()),
      loopLagMs: Math.max(0, Math.round(lag)),
    };
  }

  #send(message: FeedMessage): void {
    if (this.#viewers.size === 0) return;
    const json = this.#update(message);
    for (const viewer of this.#viewers) viewer.send("feed", json);
  }

  #update({ entries, left }: FeedMessage): string {
    const update: FeedUpdate = { id: this.#program.id, atMs: this.#deps.clock.unixMs(), entries, left };
    return JSON.stringify(update);
  }
}

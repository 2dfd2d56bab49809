import type { PartSink, PendingBlock, PendingSource } from "@rnode/chain";
import { PendingBlocks } from "@rnode/eth-api";
import { type Logger, noMetrics } from "@rnode/observe";
import { type Flashblock, FlashblockOrder } from "@rnode/protocol";
import { createStreamMetrics, PartFollower, PartOutlet, PartPromises, PartPublisher } from "@rnode/rengine";
import { EngineWatch, type EngineWatchDeps } from "./engine-watch.ts";
import { FakeChain, type SimBlock } from "./fake-chain.ts";
import type { Component, Timeline } from "./timeline.ts";

export interface SimEngineDeps {
  readonly component: Component;
  readonly timeline: Timeline;
  readonly blocks: readonly SimBlock[];
  readonly pool: PendingSource;
  readonly intervalMs: number;
  /** to all that follow this engine */
  readonly send: (text: string) => void;
  readonly log: Logger;
  readonly report: EngineWatchDeps["report"];
  readonly onPart: (part: PendingBlock) => void;
}

/** rengine from its start to its crash, wired as `startSubblocks` does, over a fake chain. */
export class SimEngine {
  readonly chain: FakeChain;
  readonly pending = new PendingBlocks();
  readonly watch: EngineWatch;
  /** transactions of broken promises, as the metric says */
  broken = 0;
  readonly #follower: PartFollower;
  readonly #outlet: PartOutlet;

  constructor({ component, timeline, blocks, pool, intervalMs, send, log, report, onPart }: SimEngineDeps) {
    const { pending } = this;
    const onBroken = (count: number): void => {
      this.broken += count;
    };
    const metrics = { ...createStreamMetrics(noMetrics), broken: { inc: () => onBroken(1), add: onBroken } };
    this.chain = new FakeChain(blocks, {
      nowMs: () => timeline.nowMs,
      pool,
      onBuild: (id, parent) => this.watch.onBuild(id, parent),
    });
    const { chain } = this;
    const order = new FlashblockOrder();
    const promises = new PartPromises({ chain, pending, log, metrics });
    const server = { readers: 1, encode: (text: string) => Buffer.from(text), send: (message: Buffer) => send(String(message)) };
    this.#outlet = new PartOutlet({ server, head: () => chain.head().number });
    const outlet = this.#outlet;
    const publisher = new PartPublisher({ pending, outlet, order, log, metrics });
    this.watch = new EngineWatch({ chain, publisher, pending, report });
    const sink: PartSink = {
      onBegin: (number) => publisher.onBegin(number),
      onPart: (part: PendingBlock) => {
        this.watch.onOwnPart(part);
        onPart(part);
        publisher.onPart(part);
      },
      onEnd: (...args) => publisher.onEnd(...args),
      onError: (error) => {
        throw error;
      },
    };
    chain.publishParts({
      intervalMs,
      sink,
      delay: (delayMs, action) => component.after(delayMs, action),
      clock: { unixMs: () => timeline.nowMs },
      promised: (parentHash) => promises.on(parentHash),
    });
    const building = (): number | undefined => publisher.building;
    this.#follower = new PartFollower({
      ...{ chain, pending, order, building, log, metrics },
      relay: (part, text) => outlet.publish(part, () => text, text.length),
      nowMs: () => timeline.nowMs,
    });
    chain.onHeadChange(() => this.watch.onHead());
    log.debug("engine starts", { head: chain.head().number });
  }

  /** @param part the same as the text, decoded once for all */
  receive(text: string, part: Flashblock, source: string): void {
    const isDue = this.watch.onDelivered(part);
    this.#follower.take(text, source);
    this.watch.check(isDue);
  }

  /** What one that connects now gets first. */
  missed(): readonly string[] {
    return this.#outlet.missed().map(String);
  }

  insert(block: SimBlock): void {
    this.watch.onBlock(block);
    this.chain.insert(block);
    this.watch.check(true);
  }
}

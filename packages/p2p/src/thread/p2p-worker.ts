import "../with-resolvers.ts";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parentPort, workerData } from "node:worker_threads";
import { createMetrics, type MetricFactory, noMetrics } from "@rnode/observe";
import { SentLogger, sendError } from "@rnode/peering";
import { systemClock } from "@rnode/program";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { startNetwork } from "../host/start-network.ts";
import type { P2PHandlers, P2PIdentity, P2PNetwork } from "../network.ts";
import type { PeerApi } from "../peers/peer-api.ts";
import { P2PSettingError } from "../settings-error.ts";
import { decodeBlock, encodeReceivedBlock } from "./encoded-block.ts";
import { observeEventLoop } from "./event-loop-metrics.ts";
import { type FromThread, HEARTBEAT, HEARTBEAT_INTERVAL_MS, type Publish, type ThreadStart, type ToThread } from "./messages.ts";
import { Outbox } from "./outbox.ts";

// The thread of `P2PThread`: runs the network, and sends on what comes out of it.

const { config, level, metricsPrefix, shared, urgent } = workerData as ThreadStart;
const main = parentPort!;
const send = (message: FromThread, transfer: readonly ArrayBuffer[] = []): void => main.postMessage(message, [...transfer]);

const outbox = new Outbox(shared, send);
const log = new SentLogger(level, (line) => outbox.line(line));
const collected = metricsPrefix === undefined ? undefined : createMetrics({ prefix: metricsPrefix, ofProcess: false });
const metrics: MetricFactory = collected ?? noMetrics;
observeEventLoop(metrics, "p2p", monitorEventLoopDelay({ resolution: 10 }));
const dropped = metrics.counter(
  "p2p_unsafe_payloads_dropped_total",
  "Blocks of the network that were dropped because the node did not get to take them.",
);

const rejections = metrics.counter(
  "p2p_unhandled_rejections_total",
  "Promises of libraries that failed and that nobody waited for.",
);
// What a peer makes fail in a library must not take the network from all others. Exceptions still end the thread.
process.on("unhandledRejection", (error) => {
  rejections.inc();
  log.debug("a promise failed that nobody waits for", { error });
});

/** Blocks that the node was asked for, by id. */
const asked = new Map<
  number,
  { readonly resolve: (block: ExecutionPayloadEnvelope | undefined) => void; readonly reject: (error: Error) => void }
>();
let lastId = 0;

const handlers: P2PHandlers = {
  onUnsafePayload(envelope, from) {
    if (!outbox.payload(encodeReceivedBlock(envelope), from)) dropped.inc();
  },
  payloadByNumber(number) {
    return new Promise((resolve, reject) => {
      const id = ++lastId;
      asked.set(id, { resolve, reject });
      send({ kind: "ask", id, number });
    });
  },
};

setInterval(() => Atomics.add(shared, HEARTBEAT, 1), HEARTBEAT_INTERVAL_MS);

let network: P2PNetwork;
try {
  network = await startNetwork(config, handlers, { clock: systemClock, random: Math.random, log, metrics });
  serve();
} catch (error) {
  send({ kind: "failed", setting: error instanceof P2PSettingError ? error.setting : undefined, error: sendError(error) });
}

function serve(): void {
  let told = JSON.stringify(network.identity);
  const identity = (): P2PIdentity => structuredClone(network.identity);
  send({ kind: "started", identity: identity() });
  setInterval(() => {
    const now = JSON.stringify(network.identity);
    if (now === told) return;
    told = now;
    send({ kind: "identity", identity: identity() });
  }, 5_000);
  urgent.on("message", ({ id, block, signature }: Publish) => {
    network.publish(decodeBlock(block), signature).then(
      (published) => send({ kind: "published", id, published }),
      (error: unknown) => send({ kind: "error", id, error: sendError(error) }),
    );
  });
  main.on("message", (message: ToThread) => void take(message));
}

async function take(message: ToThread): Promise<void> {
  switch (message.kind) {
    case "signer":
      network.setUnsafeBlockSigner(message.address);
      return;
    case "gap":
      network.requestGap(message.gap);
      return;
    case "level":
      log.level = message.level;
      return;
    case "block": {
      const { id, block, error } = message;
      const waiting = asked.get(id);
      asked.delete(id);
      if (error === undefined) waiting?.resolve(block && decodeBlock(block));
      else waiting?.reject(new Error(error));
      return;
    }
    case "call": {
      const { id, method, args } = message;
      try {
        const call = network.api[method] as (...args: readonly unknown[]) => Promise<unknown>;
        send({ kind: "result", id, value: await call.apply(network.api as PeerApi, args as unknown[]) });
      } catch (error) {
        send({ kind: "error", id, error: sendError(error) });
      }
      return;
    }
    case "collect":
      send({ kind: "metrics", id: message.id, values: (await collected?.collect()) ?? [] });
      return;
    case "close":
      await network.close();
      send({ kind: "closed" });
      process.exit(0);
  }
}

import { parentPort, workerData } from "node:worker_threads";
import { createMetrics, type MetricFactory, noMetrics } from "@rnode/observe";
import { SentLogger, sendError } from "@rnode/peering";
import { systemClock } from "@rnode/program";
import type { BlockPeer } from "../api.ts";
import { DevP2PError } from "../errors.ts";
import type { DevP2PHandlers, DevP2PNetwork } from "../network.ts";
import { startNetwork } from "../start-network.ts";
import {
  type FromThread,
  HEARTBEAT,
  HEARTBEAT_INTERVAL_MS,
  LOG_LINES,
  MAX_LOG_LINES,
  MAX_TRANSACTION_BYTES,
  MAX_TRANSACTIONS,
  type PeerRequest,
  type ThreadStart,
  type ToThread,
  TRANSACTION_BYTES,
  TRANSACTIONS,
} from "./messages.ts";

// The thread of `DevP2PThread`: runs the network, and sends on what comes out of it.

const { config, level, metricsPrefix, shared } = workerData as ThreadStart;
const main = parentPort!;
const send = (message: FromThread, transfer: readonly ArrayBuffer[] = []): void => main.postMessage(message, [...transfer]);

const log = new SentLogger(level, (line) => {
  if (Atomics.load(shared, LOG_LINES) >= MAX_LOG_LINES && line.level !== "error") return;
  Atomics.add(shared, LOG_LINES, 1);
  send({ kind: "log", ...line });
});
const collected = metricsPrefix === undefined ? undefined : createMetrics({ prefix: metricsPrefix, ofProcess: false });
const metrics: MetricFactory = collected ?? noMetrics;
const dropped = metrics.counter(
  "devp2p_transactions_dropped_total",
  "Transactions of peers that were dropped because the client did not get to take them.",
);
const rejections = metrics.counter(
  "devp2p_unhandled_rejections_total",
  "Promises that failed in the network and that nobody waited for.",
);
// What a peer makes fail in a library must not take the network from all others. Exceptions still end the thread.
process.on("unhandledRejection", (error) => {
  rejections.inc();
  log.debug("a promise failed that nobody waits for", { error });
});

const MAX_QUESTIONS = 64;
const PEERS_INTERVAL_MS = 50;
const POOL_LIMIT_MS = 5_000;

/** Questions about the pool, by id. */
const asked = new Map<number, (transactions: readonly Uint8Array[]) => void>();
let lastId = 0;

const handlers: DevP2PHandlers = {
  onTransactions(transactions) {
    const bytes = transactions.reduce((sum, { encoded }) => sum + encoded.length, 0);
    const isFull =
      Atomics.load(shared, TRANSACTIONS) + transactions.length > MAX_TRANSACTIONS ||
      Atomics.load(shared, TRANSACTION_BYTES) + bytes > MAX_TRANSACTION_BYTES;
    if (isFull) {
      dropped.add(transactions.length);
      return;
    }
    Atomics.add(shared, TRANSACTIONS, transactions.length);
    Atomics.add(shared, TRANSACTION_BYTES, bytes);
    send({ kind: "transactions", transactions, bytes });
  },
  pooledTransactions(hashes) {
    if (asked.size >= MAX_QUESTIONS) return Promise.resolve([]);
    return new Promise((resolve) => {
      const id = ++lastId;
      const timer = setTimeout(() => {
        asked.delete(id);
        resolve([]);
      }, POOL_LIMIT_MS);
      asked.set(id, (transactions) => {
        clearTimeout(timer);
        asked.delete(id);
        resolve(transactions);
      });
      send({ kind: "ask-pooled", id, hashes });
    });
  },
};

setInterval(() => Atomics.add(shared, HEARTBEAT, 1), HEARTBEAT_INTERVAL_MS);

/** Requests of the process that are under way, by id. */
const underWay = new Map<number, AbortController>();
let network: DevP2PNetwork;
try {
  network = await startNetwork(config, handlers, { clock: systemClock, log, metrics });
  serve();
} catch (error) {
  send({ kind: "failed", error: sendError(error) });
}

function serve(): void {
  send({ kind: "started", identity: network.identity });
  let told = JSON.stringify(network.identity);
  setInterval(() => {
    const now = JSON.stringify(network.identity);
    if (now === told) return;
    told = now;
    send({ kind: "identity", identity: network.identity });
  }, 5_000);
  let isDue = false;
  const tellPeers = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      send({ kind: "peers", peers: network.list().map(({ id, head }) => ({ id, head })) });
    }, PEERS_INTERVAL_MS);
  };
  network.onChange(tellPeers);
  tellPeers();
  main.on("message", (message: ToThread) => void take(message));
}

async function take(message: ToThread): Promise<void> {
  switch (message.kind) {
    case "request":
      return await answer(message.id, message.peer, message.request);
    case "abort":
      underWay.get(message.id)?.abort();
      return;
    case "report":
      peerOf(message.peer)?.report(message.fault, message.detail);
      return;
    case "announce":
      network.announce(message.transactions);
      return;
    case "pooled":
      asked.get(message.id)?.(message.transactions);
      return;
    case "call": {
      const { id, method, args } = message;
      try {
        const call = network.admin[method] as (...texts: readonly string[]) => Promise<unknown>;
        send({ kind: "result", id, value: await call(...args) });
      } catch (error) {
        send({ kind: "error", id, error: sendError(error) });
      }
      return;
    }
    case "collect":
      send({ kind: "metrics", id: message.id, values: (await collected?.collect()) ?? [] });
      return;
    case "level":
      log.level = message.level;
      return;
    case "close":
      await network.close();
      send({ kind: "closed" });
      process.exit(0);
  }
}

const peerOf = (id: string): BlockPeer | undefined => network.list().find((peer) => peer.id === id);

async function answer(id: number, peerId: string, request: PeerRequest): Promise<void> {
  const controller = new AbortController();
  underWay.set(id, controller);
  try {
    const peer = peerOf(peerId);
    if (peer === undefined) throw new DevP2PError("devp2p/peer-gone");
    const items =
      request.what === "headers"
        ? await peer.headers(request.request, controller.signal)
        : await peer[request.what](request.hashes, controller.signal);
    // each item is a copy that nothing else uses
    const buffers = items.map(({ buffer }) => buffer as ArrayBuffer);
    send({ kind: "result", id, value: items }, buffers);
  } catch (error) {
    send({ kind: "error", id, error: sendError(error) });
  } finally {
    underWay.delete(id);
  }
}

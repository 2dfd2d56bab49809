import { systemClock } from "@rnode/program";
import { type NetworkProgram, serveNetworks } from "@rnode/threads";
import type { BlockPeer } from "../api.ts";
import { DevP2PError } from "../errors.ts";
import type { EthPeer } from "../eth/eth-peer.ts";
import type { DevP2PHandlers, DevP2PNetwork } from "../network.ts";
import { startNetwork } from "../start-network.ts";
import { type DevP2PTypes, MAX_TRANSACTION_BYTES, MAX_TRANSACTIONS, TRANSACTION_BYTES, TRANSACTIONS } from "./messages.ts";

// The thread of `DevP2PThread`: runs the network, and forwards its output.

const MAX_QUESTIONS = 64;
const PEERS_INTERVAL_MS = 50;
const POOL_LIMIT_MS = 5_000;

serveNetworks<DevP2PTypes>(
  (metrics) =>
    metrics.counter("devp2p_unhandled_rejections_total", "Promises that failed in the network and that nobody waited for."),
  (program) => {
    const asked: Questions = new Map();
    const { config, log, metrics } = program;
    return program.run(
      () => startNetwork(config, handlersOf(program, asked), { clock: systemClock, log, metrics }),
      (network) => {
        tellPeers(program, network);
        const underWay: Requests = new Map();
        return (message) => take(program, network, { asked, underWay }, message);
      },
    );
  },
);

/** Questions about the pool, by id. */
type Questions = Map<number, (transactions: readonly Uint8Array[]) => void>;
/** Requests of the process that are under way, by id. */
type Requests = Map<number, AbortController>;

function handlersOf(program: NetworkProgram<DevP2PTypes>, asked: Questions): DevP2PHandlers {
  const { counters, metrics } = program;
  const dropped = metrics.counter(
    "devp2p_transactions_dropped_total",
    "Transactions of peers that were dropped because the client did not get to take them.",
  );
  let lastId = 0;
  return {
    onTransactions(transactions) {
      const bytes = transactions.reduce((sum, { encoded }) => sum + encoded.length, 0);
      const isFull =
        Atomics.load(counters, TRANSACTIONS) + transactions.length > MAX_TRANSACTIONS ||
        Atomics.load(counters, TRANSACTION_BYTES) + bytes > MAX_TRANSACTION_BYTES;
      if (isFull) {
        dropped.add(transactions.length);
        return;
      }
      Atomics.add(counters, TRANSACTIONS, transactions.length);
      Atomics.add(counters, TRANSACTION_BYTES, bytes);
      program.send({ kind: "transactions", transactions, bytes });
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
        program.send({ kind: "ask-pooled", id, hashes });
      });
    },
  };
}

function tellPeers(program: NetworkProgram<DevP2PTypes>, network: DevP2PNetwork): void {
  let isDue = false;
  const tell = (): void => {
    if (isDue) return;
    isDue = true;
    setTimeout(() => {
      isDue = false;
      program.send({
        kind: "peers",
        peers: network.list().map(({ id, head, state }) => ({ id, head, speaksSnap: state !== undefined })),
      });
    }, PEERS_INTERVAL_MS);
  };
  network.onChange(tell);
  tell();
}

function take(
  program: NetworkProgram<DevP2PTypes>,
  network: DevP2PNetwork,
  { asked, underWay }: { readonly asked: Questions; readonly underWay: Requests },
  message: DevP2PTypes["to"],
): void {
  switch (message.kind) {
    case "request":
      // each item is a copy that nothing else uses
      void program.answer(
        message.id,
        () => ask(network, underWay, message),
        (items) => items.map(({ buffer }) => buffer as ArrayBuffer),
      );
      return;
    case "abort":
      underWay.get(message.id)?.abort();
      return;
    case "report":
      peerOf(network, message.peer)?.report(message.fault, message.detail);
      return;
    case "announce":
      network.announce(message.transactions);
      return;
    case "pooled":
      asked.get(message.id)?.(message.transactions);
      return;
    case "call": {
      const { id, method, args } = message;
      const call = network.admin[method] as (...texts: readonly string[]) => Promise<unknown>;
      void program.answer(id, () => call(...args));
      return;
    }
  }
}

const peerOf = (network: DevP2PNetwork, id: string): BlockPeer | undefined => network.list().find((peer) => peer.id === id);

async function ask(
  network: DevP2PNetwork,
  underWay: Requests,
  { id, peer: peerId, request }: Extract<DevP2PTypes["to"], { readonly kind: "request" }>,
): Promise<readonly Uint8Array[]> {
  const controller = new AbortController();
  underWay.set(id, controller);
  try {
    const peer = peerOf(network, peerId);
    if (peer === undefined) throw new DevP2PError("devp2p/peer-gone");
    const { signal } = controller;
    if (request.what === "state") return [await (peer as EthPeer).askState(request.request, signal)];
    return request.what === "headers"
      ? await peer.headers(request.request, signal)
      : await peer[request.what](request.hashes, signal);
  } finally {
    underWay.delete(id);
  }
}

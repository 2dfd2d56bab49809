import type { CollectedMetrics, Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { type NetworkRun, NetworkThread, ThreadHost } from "@rnode/threads";
import type { BlockPeer } from "../api.ts";
import { DevP2PError } from "../errors.ts";
import type { Announcement, DevP2PConfig, DevP2PHandlers, DevP2PIdentity, DevP2PNetwork, PeerAdmin } from "../network.ts";
import { COUNTERS, type DevP2PTypes, type PeerRequest, TRANSACTION_BYTES, TRANSACTIONS } from "./messages.ts";
import { RemotePeers } from "./remote-peers.ts";

export interface DevP2PThreadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** `undefined`: no metrics in the thread */
  readonly metricsPrefix: string | undefined;
  /** for tests: another program */
  readonly program?: URL | undefined;
}

const PROGRAM = new URL("./devp2p-worker.js", import.meta.url);
const MAX_CALLS = 1_024;
const MEMORY = { maxOldGenerationSizeMb: 384, maxYoungGenerationSizeMb: 16 } as const;
const NO_ANSWER = { lost: "devp2p/thread-lost", busy: "devp2p/busy", closed: "devp2p/closed" } as const;

/**
 * The network in a separate thread, so that peers' data delays neither blocks nor readers. Data between the threads is bounded by
 * count and bytes. A crashed thread is restarted with the same identity and ports.
 */
export class DevP2PThread implements DevP2PNetwork {
  readonly admin: PeerAdmin;
  readonly #handlers: DevP2PHandlers;
  readonly #peers: RemotePeers;
  readonly #thread: NetworkThread<DevP2PTypes>;

  private constructor(config: DevP2PConfig, handlers: DevP2PHandlers, deps: DevP2PThreadDeps) {
    const { clock, log, metrics, metricsPrefix, program } = deps;
    this.#handlers = handlers;
    this.#thread = new NetworkThread<DevP2PTypes>(
      {
        config,
        host: new ThreadHost({ program: program ?? PROGRAM, execArgv: [], memory: MEMORY }),
        counters: COUNTERS,
        maxCalls: MAX_CALLS,
        metricsPrefix,
        texts: {
          lost: "the thread of the network of peers was lost: it is started again",
          again: "the network of peers runs again",
        },
      },
      {
        clock,
        log,
        losses: metrics.counter("devp2p_thread_losses_total", "How often the thread of the network was lost."),
        onMessage: (run, message) => this.#take(run, message),
        onServing: (_, { tcpPort, udpPort }, { listen, ...started }) => ({
          ...started,
          listen: { ...listen, tcpPort, udpPort: udpPort || listen.udpPort },
        }),
        onLost: () => this.#peers.set([]),
        noAnswer: (why, options) => new DevP2PError(NO_ANSWER[why], {}, options),
        describe: ({ enode }) => ({ enode }),
      },
    );
    this.#peers = new RemotePeers({
      request: (peer, request, signal) => this.#request(peer, request, signal),
      report: (peer, fault, detail) => this.#thread.serving?.send({ kind: "report", peer, fault, detail }),
    });
    const call = (method: keyof PeerAdmin) => (text?: string) =>
      this.#thread.ask((run, id) => run.send({ kind: "call", id, method, args: text === undefined ? [] : [text] }));
    this.admin = {
      peers: call("peers") as PeerAdmin["peers"],
      addPeer: call("addPeer") as PeerAdmin["addPeer"],
      removePeer: call("removePeer") as PeerAdmin["removePeer"],
      addTrustedPeer: call("addTrustedPeer") as PeerAdmin["addTrustedPeer"],
      removeTrustedPeer: call("removeTrustedPeer") as PeerAdmin["removeTrustedPeer"],
    };
  }

  /** @throws {DevP2PError} and other errors of the start */
  static async start(config: DevP2PConfig, handlers: DevP2PHandlers, deps: DevP2PThreadDeps): Promise<DevP2PThread> {
    const started = new DevP2PThread(config, handlers, deps);
    await started.#thread.start();
    return started;
  }

  get identity(): DevP2PIdentity {
    return this.#thread.identity;
  }

  list(): readonly BlockPeer[] {
    return this.#peers.list();
  }

  onChange(listener: () => void): () => void {
    return this.#peers.onChange(listener);
  }

  announce(transactions: readonly Announcement[]): void {
    this.#thread.serving?.send({ kind: "announce", transactions });
  }

  collect(): Promise<readonly CollectedMetrics[]> {
    return this.#thread.collect();
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  async #request(peer: string, request: PeerRequest, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    if (signal.aborted) throw new DevP2PError("devp2p/request-aborted");
    let abort = (): void => {};
    try {
      return (await this.#thread.ask((run, id) => {
        abort = () => run.send({ kind: "abort", id });
        signal.addEventListener("abort", abort);
        run.send({ kind: "request", id, peer, request });
      })) as readonly Uint8Array[];
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  #take(run: NetworkRun<DevP2PTypes>, message: DevP2PTypes["from"]): void {
    switch (message.kind) {
      case "peers":
        this.#peers.set(message.peers);
        return;
      case "transactions":
        Atomics.sub(run.counters, TRANSACTIONS, message.transactions.length);
        Atomics.sub(run.counters, TRANSACTION_BYTES, message.bytes);
        this.#handlers.onTransactions(message.transactions);
        return;
      case "ask-pooled":
        void this.#handlers
          .pooledTransactions(message.hashes)
          .catch(() => [])
          .then((transactions) => run.send({ kind: "pooled", id: message.id, transactions }));
        return;
    }
  }
}

import {
  anyJson,
  optionalParam,
  type RpcClient,
  RpcError,
  type RpcSubscription,
  RpcTransportError,
  SERVER_ERROR,
  type SubscriptionSink,
  type SubscriptionTable,
  subscription,
} from "@rnode/jsonrpc";
import type { Clock } from "@rnode/primitives";
import type { LeaderAddresses } from "./leader-proxy.ts";

const KINDS = ["newHeads", "logs", "newPendingTransactions", "syncing"] as const;
const LOOK_MS = 100;
const NO_ADDRESS =
  "the leader's execution client has no WebSocket address: its conductor needs --execution-ws, or --advertise.execution-ws";
const NO_LEADER = "no sequencer leads at the moment: try again in a few seconds";

export interface LeaderSubscriptionsOptions {
  /** how long a subscriber waits for a leader that answers */
  readonly waitMs: number;
}

export interface LeaderSubscriptionsDeps {
  /** undefined: there is no leader, or etcd has not been read yet */
  readonly leader: () => LeaderAddresses | undefined;
  readonly createClient: (url: string) => Pick<RpcClient, "subscribe" | "close">;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
}

/** What one or more clients have subscribed to in the same words. */
interface Shared {
  readonly sinks: Set<SubscriptionSink>;
  readonly listening: Promise<void>;
  /** undefined: the subscription is not established yet */
  upstream: RpcSubscription | undefined;
}

interface Connection {
  readonly url: string;
  readonly client: Pick<RpcClient, "subscribe" | "close">;
}

/**
 * `eth_subscribe` for users of the proxy: at the leader's execution client, one subscription there for all who want the same. When another
 * sequencer leads, or the connection is lost, notifications could be missing: clients are disconnected, come back, and are subscribed at the new
 * leader, as if their node had been restarted.
 */
export class LeaderSubscriptions {
  readonly #options: LeaderSubscriptionsOptions;
  readonly #deps: LeaderSubscriptionsDeps;
  readonly #shared = new Map<string, Shared>();
  readonly #closing = new AbortController();
  #connection: Connection | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(options: LeaderSubscriptionsOptions, deps: LeaderSubscriptionsDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  get table(): SubscriptionTable {
    const kinds = KINDS.map((kind) => [
      kind,
      subscription({
        params: [optionalParam("filter", anyJson)],
        summary: "Passed on to the leader; the connection is closed when another one leads.",
        start: ([filter], sink) => this.#start(kind, filter, sink),
      }),
    ]);
    return { eth: Object.fromEntries(kinds) as SubscriptionTable[string] };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    await this.#connection?.client.close();
  }

  #start(kind: string, filter: unknown, sink: SubscriptionSink): { stop: () => void; listening: Promise<void> } {
    const params = filter === undefined ? [kind] : [kind, filter];
    // A `syncing` subscription starts with a message to the new subscriber, so it is not shared.
    const key = kind === "syncing" ? sink.id : JSON.stringify(params);
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = this.#open(key, params);
      this.#shared.set(key, shared);
    }
    const { sinks, listening } = shared;
    sinks.add(sink);
    const stop = (): void => {
      sinks.delete(sink);
      if (sinks.size === 0) this.#forget(key, shared);
    };
    return { stop, listening };
  }

  #open(key: string, params: readonly unknown[]): Shared {
    const sinks = new Set<SubscriptionSink>();
    const subscribed = this.#subscribe(params, (result) => {
      for (const sink of sinks) sink.notify(result);
    });
    const listening = subscribed.then(
      (upstream) => {
        shared.upstream = upstream;
        if (this.#shared.get(key) !== shared)
          upstream.close(); // all subscribers have left meanwhile
        else void upstream.ended.then(() => this.#end(key, shared, "the connection to the sequencer was lost: connect again"));
      },
      (error: unknown) => {
        this.#forget(key, shared);
        throw error;
      },
    );
    listening.catch(() => {}); // told to each subscriber
    const shared: Shared = { sinks, listening, upstream: undefined };
    return shared;
  }

  /** @throws {RpcError} for the subscriber */
  async #subscribe(params: readonly unknown[], onNotification: (result: unknown) => void): Promise<RpcSubscription> {
    const { clock, monotonicMs } = this.#deps;
    const endMs = monotonicMs() + this.#options.waitMs;
    for (;;) {
      let failure: RpcError | undefined;
      try {
        const connection = await this.#connectionToLeader();
        if (connection !== undefined) return await connection.client.subscribe!(params, onNotification);
      } catch (error) {
        if (!(error instanceof RpcTransportError)) throw error;
        failure = new RpcError(SERVER_ERROR, `the sequencer does not answer: ${error.message}`, undefined, { cause: error });
      }
      if (monotonicMs() >= endMs || this.#closing.signal.aborted) throw failure ?? new RpcError(SERVER_ERROR, NO_LEADER);
      await clock.sleep(LOOK_MS, this.#closing.signal);
    }
  }

  /** @returns undefined: there is no leader. @throws {RpcError} the leader has no address */
  async #connectionToLeader(): Promise<Connection | undefined> {
    const leader = this.#deps.leader();
    if (leader === undefined) return undefined;
    const { executionWs: url } = leader;
    if (url === undefined) throw new RpcError(SERVER_ERROR, NO_ADDRESS);
    while (this.#connection !== undefined && this.#connection.url !== url) await this.#disconnect();
    if (this.#connection === undefined) {
      this.#connection = { url, client: this.#deps.createClient(url) };
      this.#watching = this.#watch(this.#connection);
    }
    return this.#connection;
  }

  /** Checks for a change of leader while the connection has subscribers. */
  async #watch(connection: Connection): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#connection === connection) {
      const leader = this.#deps.leader();
      if (leader !== undefined && leader.executionWs !== connection.url) return this.#disconnect();
      await this.#deps.clock.sleep(LOOK_MS, signal);
    }
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    for (const [key, shared] of [...this.#shared]) {
      if (shared.upstream !== undefined) this.#end(key, shared, "another sequencer leads: connect again");
    }
    await connection?.client.close();
  }

  #end(key: string, shared: Shared, why: string): void {
    const left = [...shared.sinks];
    this.#forget(key, shared);
    for (const sink of left) sink.disconnect(why);
  }

  #forget(key: string, shared: Shared): void {
    if (this.#shared.get(key) === shared) this.#shared.delete(key);
    shared.sinks.clear();
    shared.upstream?.close();
  }
}

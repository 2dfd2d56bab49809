import { randomBytes } from "node:crypto";
import type { Turns } from "../limits/turns.ts";
import type { RpcDialect } from "../wire/dialect.ts";
import { JsonText } from "../wire/json-text.ts";
import { type Method, param, type RequestContext, type SubscriptionTable } from "../wire/method-table.ts";
import { LIMIT_EXCEEDED, RpcError, type RpcErrorBody, rpcErrorOf } from "../wire/rpc-error.ts";
import { ShapeError, textShape } from "../wire/shape.ts";
import type { Unsent } from "../wire/unsent.ts";
import type { SubscriptionPlaces } from "./subscription-places.ts";

export interface WsSubscriptionsOptions {
  readonly client: RequestContext;
  readonly subscriptions: SubscriptionTable;
  readonly dialect: RpcDialect;
  /** of this connection */
  readonly maxSubscriptions: number;
  /** of all connections */
  readonly places: SubscriptionPlaces;
  readonly turns: Turns;
  readonly unsent: Unsent;
  /** of what waits to be told; beyond this, the client is too slow */
  readonly maxBacklogBytes: number;
  readonly send: (text: string) => void;
  /** Closes the connection: its client may come back at once. */
  readonly disconnect: (why: string) => void;
  /** Runs what sends many messages, and lets them leave together. */
  readonly together: (sending: () => void) => void;
}

/** A subscription of the connection. */
export interface Active {
  readonly id: string;
  readonly namespace: string;
  stop: () => void;
  /** before the answer to `eth_subscribe` is sent, notifications wait here */
  early: Told[] | undefined;
}

/** The notifications of a subscription's event, one for each result. */
interface Told {
  readonly to: Active;
  readonly results: Iterator<unknown>;
}

/** Assumed memory of a queued notification. */
const TOLD_BYTES = 256;
const SLICE_MS = 0.5;
const ANYTHING = { schema: {}, parse: (value: unknown) => value };

/**
 * The subscriptions of one WebSocket. Notifications are created and sent in the connection's turns (`Turns`), so an event with
 * thousands of subscribers delays no other client.
 */
export class WsSubscriptions {
  readonly #options: WsSubscriptionsOptions;
  readonly #active = new Map<string, Active>();
  #waiting: Told[] = [];
  /** the first of `#waiting` that is not told yet */
  #at = 0;
  #heldBytes = 0;
  #hasTurn = false;

  constructor(options: WsSubscriptionsOptions) {
    this.#options = options;
  }

  /**
   * `…_subscribe` and `…_unsubscribe`.
   *
   * @param opened gets the new subscription; its `begin` is called after the answer is sent
   */
  method(name: string, opened: Active[]): Method | undefined {
    const match = /^([a-z0-9]+)_(un)?subscribe$/i.exec(name);
    const namespace = match?.[1];
    if (namespace === undefined || !Object.hasOwn(this.#options.subscriptions, namespace)) return undefined;
    return match?.[2] === undefined
      ? {
          params: [param("kind", textShape), { name: "filter", shape: ANYTHING, optional: true }],
          handler: (args) => this.#subscribe(namespace, args, opened),
        }
      : { params: [param("subscription", textShape)], handler: (args) => this.#unsubscribe(args[0] as string) };
  }

  begin(opened: readonly Active[]): void {
    for (const active of opened) {
      const early = active.early ?? [];
      active.early = undefined;
      this.#waiting.push(...early);
    }
    this.#deliver();
  }

  endAll(): void {
    for (const active of this.#active.values()) this.#end(active);
    this.#waiting = [];
    this.#at = 0;
  }

  #subscribe(namespace: string, args: readonly unknown[], opened: Active[]): string | Promise<string> {
    const { subscriptions, dialect, client, maxSubscriptions, places } = this.#options;
    const kinds = subscriptions[namespace]!;
    const kind = args[0] as string;
    const declared = Object.hasOwn(kinds, kind) ? kinds[kind] : undefined;
    if (declared === undefined) return fail(dialect.unknownSubscription(namespace, kind.slice(0, 100), Object.keys(kinds)));
    if (this.#active.size >= maxSubscriptions) return fail(dialect.tooManySubscriptions(maxSubscriptions));
    const parsed = declared.params.map(({ name, shape, optional }, index) => {
      const value = args[index + 1];
      if (value === undefined || value === null) return optional ? undefined : fail(dialect.missingArgument(index + 1, name));
      try {
        return shape.parse(value);
      } catch (error) {
        if (error instanceof ShapeError) return fail(dialect.invalidArgument(index + 1, name, error.message));
        throw error;
      }
    });
    const whose = places.take(client.remoteAddress);
    if (whose !== undefined) {
      const who = whose === "client" ? "your address has" : "this server has";
      throw new RpcError(LIMIT_EXCEEDED, `${who} too many subscriptions: end some, or try again later`);
    }
    const id = `0x${randomBytes(16).toString("hex").replace(/^0+/, "")}`;
    const active: Active = { id, namespace, stop: () => {}, early: [] };
    this.#active.set(id, active);
    let listening: Promise<void> | undefined;
    try {
      const started = declared.start(parsed, {
        id,
        notify: (result) => this.#tell(active, [result][Symbol.iterator]()),
        notifyEach: (results) => this.#tell(active, lazily(results)),
        disconnect: this.#options.disconnect,
      });
      active.stop = typeof started === "function" ? started : started.stop;
      listening = typeof started === "function" ? declared.isListening?.() : started.listening;
    } catch (error) {
      this.#end(active);
      throw error;
    }
    opened.push(active);
    if (listening === undefined) return id;
    return listening.then(
      () => id,
      (error: unknown) => {
        this.#end(active);
        throw error;
      },
    );
  }

  #unsubscribe(id: string): boolean {
    const { subscriptionNotFound } = this.#options.dialect;
    const active = this.#active.get(id);
    if (active === undefined) return subscriptionNotFound === undefined ? false : fail(subscriptionNotFound);
    this.#end(active);
    return true;
  }

  #end(active: Active): void {
    if (!this.#active.delete(active.id)) return;
    active.stop();
    this.#options.places.giveBack(this.#options.client.remoteAddress);
  }

  #tell(to: Active, results: Iterator<unknown>): void {
    if (this.#active.get(to.id) !== to) return;
    if (to.early !== undefined) {
      to.early.push({ to, results });
      return;
    }
    this.#waiting.push({ to, results });
    this.#deliver();
  }

  #deliver(): void {
    if (!this.#hasTurn && this.#at < this.#waiting.length) {
      this.#hasTurn = true;
      this.#options.turns.run(this.#options.client, this.#slice);
    }
    this.#account();
  }

  /** What waits to be told counts as what waits to be read. */
  #account(): void {
    const { unsent, maxBacklogBytes } = this.#options;
    const heldBytes = (this.#waiting.length - this.#at) * TOLD_BYTES;
    if (heldBytes > this.#heldBytes) unsent.add(heldBytes - this.#heldBytes);
    else unsent.sent(this.#heldBytes - heldBytes);
    this.#heldBytes = heldBytes;
    if (heldBytes > maxBacklogBytes) unsent.drop("backlog");
  }

  readonly #slice = (): void => {
    this.#hasTurn = false;
    const endMs = performance.now() + SLICE_MS;
    this.#options.together(() => {
      while (this.#tellOne() && performance.now() < endMs);
    });
    if (this.#at === this.#waiting.length) {
      this.#waiting = [];
      this.#at = 0;
    } else if (this.#at > 1024) {
      this.#waiting.splice(0, this.#at);
      this.#at = 0;
    }
    this.#deliver();
  };

  /** @returns whether there was one */
  #tellOne(): boolean {
    for (let told = this.#waiting[this.#at]; told !== undefined; told = this.#waiting[++this.#at]) {
      const { to, results } = told;
      if (this.#active.get(to.id) !== to) continue;
      const next = results.next();
      if (next.done === true) continue;
      const text = next.value instanceof JsonText ? next.value.text : JSON.stringify(next.value ?? null);
      const params = `{"subscription":"${to.id}","result":${text}}`;
      this.#options.send(`{"jsonrpc":"2.0","method":"${to.namespace}_subscription","params":${params}}`);
      return true;
    }
    return false;
  }
}

function* lazily(results: () => Iterable<unknown>): Generator<unknown> {
  yield* results();
}

function fail(body: RpcErrorBody): never {
  throw rpcErrorOf(body);
}

import type { Server, Socket } from "node:net";

/** A connection may take this long to send its first request before a newcomer of the same client takes its place. */
const FIRST_REQUEST_MS = 500;
/** The first packet of a connection has been read after this many turns of the event loop with accepted connections. */
const TURNS_TO_READ = 2;

interface Place {
  readonly acceptedMs: number;
  /** the turn of the event loop */
  readonly acceptedIn: number;
  /** a whole request has arrived */
  hasAsked: boolean;
}

export interface PlacesOptions {
  /** number of connections that may be accepted temporarily beyond the limit, so that one of them can be chosen and closed */
  readonly spareFor: (most: number) => number;
  /** closes some of a client's connections that have waited for its next request for long; returns how many */
  readonly closeIdle: (client: string) => number;
  /** a newcomer had to be closed */
  readonly onRefused: () => void;
}

/**
 * The connections of a listener, shared fairly. At the limit, a new connection replaces one of the client with the most
 * connections. So no client can keep others out, regardless of the number of its connections. If it is the new connection's own
 * client, one of its connections without a request, or an idle one, is closed. So clients that share an address with an attacker
 * are also served.
 */
export class ConnectionPlaces {
  #most: number;
  readonly #spareFor: (most: number) => number;
  readonly #closeIdle: (client: string) => number;
  readonly #onRefused: () => void;
  readonly #server: Server;
  /** oldest first */
  readonly #byClient = new Map<string, Map<Socket, Place>>();
  readonly #bySocket = new WeakMap<object, Place>();
  #taken = 0;
  /** turns of the event loop in which connections were accepted */
  #turn = 0;
  #isTurnCounted = false;

  /** @param most as for `limit` */
  constructor(server: Server, most: number, { spareFor, closeIdle, onRefused }: PlacesOptions) {
    this.#server = server;
    this.#spareFor = spareFor;
    this.#closeIdle = closeIdle;
    this.#onRefused = onRefused;
    this.#most = most;
    this.limit(most);
    server.prependListener("connection", (socket) => this.#admit(socket));
  }

  get taken(): number {
    return this.#taken;
  }

  /** @param most Infinity: no limit; negative: no new connections */
  limit(most: number): void {
    this.#most = most;
    this.#server.maxConnections = most < 0 ? most : most + this.#spareFor(most);
  }

  /** A whole request has arrived over the connection: other connections of its client cannot take its place. */
  asked(socket: object): void {
    const place = this.#bySocket.get(socket);
    if (place !== undefined) place.hasAsked = true;
  }

  #admit(socket: Socket): void {
    const client = clientOf(socket.remoteAddress ?? "");
    const own = this.#byClient.get(client) ?? new Map<Socket, Place>();
    const nowMs = performance.now();
    const place = { acceptedMs: nowMs, acceptedIn: this.#turn, hasAsked: false };
    this.#byClient.set(client, own.set(socket, place));
    this.#bySocket.set(socket, place);
    this.#countTurn();
    this.#taken++;
    socket.once("close", () => {
      this.#taken--;
      own.delete(socket);
      if (own.size === 0 && this.#byClient.get(client) === own) this.#byClient.delete(client);
    });
    if (this.#taken <= this.#most) return;
    const largest = [...this.#byClient.values()].reduce((a, b) => (b.size > a.size ? b : a));
    // With one place more than the newcomer's client, it would only have to come back to take it again.
    if (largest.size > own.size + 1) {
      leastUsed(largest.keys()).destroy();
      return;
    }
    const spare =
      oldest(own, ([{ bytesRead }, { acceptedIn }]) => bytesRead === 0 && acceptedIn <= this.#turn - TURNS_TO_READ) ??
      oldest(own, ([, { acceptedMs, hasAsked }]) => !hasAsked && acceptedMs <= nowMs - FIRST_REQUEST_MS);
    if (spare !== undefined) {
      spare.destroy();
      return;
    }
    if (this.#closeIdle(client) > 0) return;
    socket.destroy();
    this.#onRefused();
  }

  #countTurn(): void {
    if (this.#isTurnCounted) return;
    this.#isTurnCounted = true;
    setImmediate(() => {
      this.#isTurnCounted = false;
      this.#turn++;
    });
  }
}

/** One that has sent nothing, or the oldest. @param sockets at least one */
function leastUsed(sockets: Iterable<Socket>): Socket {
  let oldest: Socket | undefined;
  for (const socket of sockets) {
    if (socket.bytesRead === 0) return socket;
    oldest ??= socket;
  }
  return oldest!;
}

/** The oldest open connection of which something holds. */
function oldest(places: ReadonlyMap<Socket, Place>, holds: (entry: readonly [Socket, Place]) => boolean): Socket | undefined {
  for (const entry of places) if (!entry[0].destroyed && holds(entry)) return entry[0];
  return undefined;
}

/**
 * Who a connection belongs to: its IPv4 address, or the first half of its IPv6 address, the least that a network gives to one
 * customer (RFC 6177).
 */
export function clientOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [before = "", after] = address.split("%")[0]!.split("::");
  const groups = before === "" ? [] : before.split(":");
  if (after !== undefined) {
    const last = after === "" ? [] : after.split(":");
    groups.push(...Array<string>(Math.max(0, 8 - groups.length - last.length)).fill("0"), ...last);
  }
  return groups.slice(0, 4).join(":");
}

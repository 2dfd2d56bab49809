import type { Server, Socket } from "node:net";

/** A connection may be silent for this long before a newcomer of the same client takes its place. */
const SILENT_MS = 500;

/**
 * The connections that a listener may have, shared fairly: when all places are taken, a newcomer gets one of the client that has most of
 * them. So no client can keep others out, however many connections it opens. If that is the newcomer's client itself, one of its own makes room
 * that has sent nothing so far: those who share an address with somebody that only opens connections are served, too.
 */
export class ConnectionPlaces {
  #most: number;
  readonly #spareFor: (most: number) => number;
  readonly #onRefused: (isOnlyClient: boolean) => void;
  readonly #server: Server;
  /** with the time at which each was accepted, oldest first */
  readonly #byClient = new Map<string, Map<Socket, number>>();
  #taken = 0;

  /**
   * @param most as for `limit`
   * @param spareFor how many connections may be accepted beyond so many, for a moment, so that there is a choice which of them is closed
   * @param onRefused a newcomer had to be closed; `isOnlyClient`: nobody else has connections
   */
  constructor(server: Server, most: number, spareFor: (most: number) => number, onRefused: (isOnlyClient: boolean) => void) {
    this.#server = server;
    this.#spareFor = spareFor;
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

  #admit(socket: Socket): void {
    const client = clientOf(socket.remoteAddress ?? "");
    const own = this.#byClient.get(client) ?? new Map<Socket, number>();
    const nowMs = performance.now();
    this.#byClient.set(client, own.set(socket, nowMs));
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
    const silent = silentSince(own, nowMs - SILENT_MS);
    if (silent !== undefined) {
      silent.destroy();
      return;
    }
    socket.destroy();
    this.#onRefused(this.#byClient.size === 1);
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

/** The oldest that has sent nothing since it was accepted, by then. */
function silentSince(sockets: ReadonlyMap<Socket, number>, atMs: number): Socket | undefined {
  for (const [socket, acceptedMs] of sockets) {
    if (acceptedMs > atMs) return undefined;
    if (socket.bytesRead === 0) return socket;
  }
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

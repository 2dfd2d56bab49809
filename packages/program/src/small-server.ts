import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** Those who ask are few: collectors of metrics, and people. */
const MAX_CONNECTIONS = 32;
/** Accepted beyond that for a moment, so that there is a choice which one is closed. */
const SPARE_CONNECTIONS = 64;

/** A server for operators, beside the one for users. */
export interface SmallServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface SmallServerOptions {
  readonly addr: string;
  readonly port: number;
  /** a connection on which nothing happens for this long is closed */
  readonly idleMs: number;
}

/** @throws the listen error (EADDRINUSE…) */
export async function startSmallServer(answer: RequestListener, { addr, port, idleMs }: SmallServerOptions): Promise<SmallServer> {
  const server = createServer(answer);
  server.maxConnections = MAX_CONNECTIONS + SPARE_CONNECTIONS;
  server.timeout = idleMs;
  keepPlaces(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, addr, () => {
      server.off("error", reject);
      // A connection could not be accepted, for want of file descriptors: its client is told by the system, and tries again.
      server.on("error", () => {});
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** When all places are taken, a newcomer gets that of the oldest connection of the address that has most. */
function keepPlaces(server: Server): void {
  const byAddress = new Map<string, Set<Socket>>();
  let taken = 0;
  server.on("connection", (socket: Socket) => {
    const address = socket.remoteAddress ?? "";
    const own = byAddress.get(address) ?? new Set();
    byAddress.set(address, own.add(socket));
    taken++;
    socket.once("close", () => {
      taken--;
      own.delete(socket);
      if (own.size === 0 && byAddress.get(address) === own) byAddress.delete(address);
    });
    if (taken <= MAX_CONNECTIONS) return;
    const [oldest] = [...byAddress.values()].reduce((most, sockets) => (sockets.size > most.size ? sockets : most));
    oldest?.destroy();
  });
}

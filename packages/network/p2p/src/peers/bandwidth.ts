import type { MultiaddrConnection } from "@libp2p/interface";
import type { P2PMetrics } from "../p2p-metrics.ts";

interface CountedSocket {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

interface Counted {
  readonly socket: CountedSocket;
  read: number;
  written: number;
}

/** Counts the bytes of all connections, from the counters of their sockets. */
export class Bandwidth {
  readonly #metrics: P2PMetrics;
  readonly #open = new Set<Counted>();

  constructor(metrics: P2PMetrics) {
    this.#metrics = metrics;
  }

  track(connection: MultiaddrConnection): void {
    const { socket } = connection as { socket?: Partial<CountedSocket> };
    if (typeof socket?.bytesRead !== "number" || typeof socket.bytesWritten !== "number") return;
    const counted: Counted = { socket: socket as CountedSocket, read: 0, written: 0 };
    this.#open.add(counted);
    connection.addEventListener(
      "close",
      () => {
        this.#count(counted);
        this.#open.delete(counted);
      },
      { once: true },
    );
  }

  /** Call it at intervals, so that the bytes of long connections are counted before they end. */
  sample(): void {
    for (const counted of this.#open) this.#count(counted);
  }

  #count(counted: Counted): void {
    const { bytesRead, bytesWritten } = counted.socket;
    this.#metrics.bandwidthBytes.add(bytesRead - counted.read, { direction: "in" });
    this.#metrics.bandwidthBytes.add(bytesWritten - counted.written, { direction: "out" });
    counted.read = bytesRead;
    counted.written = bytesWritten;
  }
}

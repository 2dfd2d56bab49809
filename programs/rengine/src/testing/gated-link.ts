import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A TCP proxy on loopback that forwards only a limited number of bytes from its target. */
export class GatedLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** rung when more may be passed on */
  readonly #waiting = new Set<() => void>();
  #allowed = 0;
  /** bytes that were passed on from the target */
  passed = 0;

  private constructor(targetPort: number) {
    this.#server = createServer((client) => {
      const target = connect(targetPort, "127.0.0.1");
      for (const [socket, other] of [
        [client, target],
        [target, client],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => {}); // ends with "close"
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      client.pipe(target);
      void this.#pass(target, client);
    });
  }

  static async to(targetPort: number): Promise<GatedLink> {
    const link = new GatedLink(targetPort);
    await new Promise<void>((resolve) => void link.#server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Whether something waits until more may pass. */
  get isHolding(): boolean {
    return this.#waiting.size > 0;
  }

  /** Lets `bytes` more pass. */
  allow(bytes: number): void {
    this.#allowed += bytes;
    for (const go of this.#waiting) go();
    this.#waiting.clear();
  }

  async #pass(from: Socket, to: Socket): Promise<void> {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        for (let rest = chunk; rest.length > 0; ) {
          if (this.#allowed === 0) await new Promise<void>((resolve) => void this.#waiting.add(resolve));
          if (to.destroyed) return;
          const now = rest.subarray(0, this.#allowed);
          this.#allowed -= now.length;
          this.passed += now.length;
          rest = rest.subarray(now.length);
          to.write(now);
        }
      }
    } catch {
      // the connection was lost
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.allow(0);
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

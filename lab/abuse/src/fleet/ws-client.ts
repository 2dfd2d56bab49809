import { WebSocket } from "ws";
import type { BlockJson, SeenChain } from "./seen-chain.ts";

export interface WsClientOptions {
  readonly port: number;
  readonly address: string;
  readonly seen: SeenChain;
  readonly onFault: (fault: string) => void;
}

/** Libraries wait at least this long before they connect again. */
const AGAIN_MS = 500;
/** So long a client may be without a connection. */
const AWAY_MS = 10_000;

/** Subscribes to new heads, asks for each that it is told of, and connects again when its connection ends. */
export class WsClient {
  readonly #options: WsClientOptions;
  #socket: WebSocket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #awaySinceMs = performance.now();
  #isClosed = false;
  /** notifications */
  heads = 0;
  /** connections after the first */
  reconnects = -1;

  constructor(options: WsClientOptions) {
    this.#options = options;
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.terminate();
  }

  #connect(): void {
    const { port, address, seen, onFault } = this.#options;
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { localAddress: address });
    this.#socket = socket;
    const call = (id: number, method: string, params: readonly unknown[]): void =>
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    socket.on("open", () => {
      this.reconnects++;
      this.#awaySinceMs = Number.POSITIVE_INFINITY;
      call(0, "eth_subscribe", ["newHeads"]);
      call(1, "eth_getBlockByNumber", ["latest", false]);
    });
    socket.on("message", (data: Buffer) => {
      const message = JSON.parse(data.toString()) as {
        readonly id?: number;
        readonly result?: BlockJson | string | null;
        readonly error?: { readonly message: string };
        readonly params?: { readonly result: BlockJson };
      };
      if (message.error !== undefined) return onFault(`WebSocket: ${message.error.message}`);
      let fault: string | undefined;
      if (message.params !== undefined) {
        this.heads++;
        const { number } = message.params.result;
        fault = seen.block("newHeads", message.params.result);
        call(Number(number), "eth_getBlockByNumber", [number, false]);
      } else if (message.id === 1) fault = seen.block("WebSocket latest", message.result as BlockJson | null);
      else if (message.id !== 0) fault = seen.block("WebSocket block", message.result as BlockJson | null, message.id);
      if (fault !== undefined) onFault(fault);
    });
    socket.on("error", () => {}); // "close" follows
    socket.on("close", () => {
      if (this.#isClosed) return;
      const nowMs = performance.now();
      this.#awaySinceMs = Math.min(this.#awaySinceMs, nowMs);
      if (nowMs - this.#awaySinceMs > AWAY_MS) {
        onFault(`WebSocket: no connection for ${AWAY_MS / 1000} s`);
        this.#awaySinceMs = nowMs;
      }
      this.#timer = setTimeout(() => this.#connect(), AGAIN_MS);
    });
  }
}

import type { Clock } from "@rnode/primitives";
import type { RpcError } from "./rpc-error.ts";

/** Mutual authentication over TLS 1.3 or newer; all three are the texts of PEM files. */
export interface ClientTls {
  /** the only authorities that are trusted: those of the system are not */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface RpcClientOptions {
  /** http, https, ws or wss; credentials in it are sent as basic authentication */
  readonly url: string;
  /** 32 bytes: each HTTP request carries a fresh token */
  readonly jwtSecret?: Uint8Array | undefined;
  /** dates the tokens; default: the machine's time */
  readonly clock?: Pick<Clock, "unixMs"> | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** of HTTPS only; default: the server is authenticated by the system's authorities, the client is not */
  readonly tls?: ClientTls | undefined;
  /** for the whole request, including the wait in the queue; default 10 s */
  readonly timeoutMs?: number | undefined;
  /** calls in one HTTP request of `batch`; default 20 */
  readonly maxBatchSize?: number | undefined;
  /** HTTP requests, or messages of a WebSocket, under way at once; default 10 */
  readonly maxConcurrency?: number | undefined;
  /** calls per second, each call of a batch counted; 0 (default): no limit */
  readonly rateLimitPerSec?: number | undefined;
  /** default 256 MiB */
  readonly maxResponseBytes?: number | undefined;
}

export interface RpcCall {
  readonly method: string;
  readonly params?: readonly unknown[] | undefined;
}

export type RpcOutcome =
  | { readonly kind: "result"; readonly result: unknown }
  | { readonly kind: "error"; readonly error: RpcError };

export interface CallOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * For `call` over HTTP: gets the elements of a list result one by one, as they arrive; the result is then an empty list. The
   * size limit applies to each element. If it throws, the request ends with that error. Elsewhere it is ignored, and the result
   * is the whole list.
   */
  readonly onElement?: ((element: unknown) => void) | undefined;
}

export interface RpcClient {
  /** for logs: without credentials and path */
  readonly endpoint: string;
  /** number of connections that have ended: after a reconnection, a different server may be behind the address */
  readonly connectionsLost: number;
  /** The result as it came. @throws {RpcError} the server's error; {RpcTransportError} no answer reached us */
  call<T = unknown>(method: string, params?: readonly unknown[], options?: CallOptions): Promise<T>;
  /** Answers in the order of the calls, in as few HTTP requests as allowed. @throws {RpcTransportError} if one of them failed */
  batch(calls: readonly RpcCall[], options?: CallOptions): Promise<RpcOutcome[]>;
  /** Over WebSockets only: `eth_subscribe` with `params`. */
  subscribe?(params: readonly unknown[], onNotification: (result: unknown) => void): Promise<RpcSubscription>;
  /** Fails pending requests with rpc/closed. */
  close(): Promise<void>;
}

export interface RpcSubscription {
  /** resolves when no more notifications will come: the connection was lost, or it was closed */
  readonly ended: Promise<void>;
  close(): void;
}

import { type CallOptions, RpcError, type RpcOutcome, type RpcSubscription, RpcTransportError } from "@rnode/jsonrpc";
import { L1Error, type L1ErrorCode } from "../l1-error.ts";

/** The used part of a JSON-RPC client, which `RpcClient` implements. */
export interface L1Rpc {
  /** number of connections that have ended: after a reconnection, a different server may be behind the address */
  readonly connectionsLost: number;
  call(method: string, params: readonly unknown[], options?: CallOptions): Promise<unknown>;
  batch(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]): Promise<readonly RpcOutcome[]>;
  /** over WebSockets only */
  subscribe?(params: readonly unknown[], onNotification: (result: unknown) => void): Promise<RpcSubscription>;
}

export interface L1Endpoint {
  /** how logs name it: without credentials and path */
  readonly name: string;
  readonly rpc: L1Rpc;
}

/** `l1/unreadable` is among them because L1 may replace the block. */
const RETRIED: ReadonlySet<L1ErrorCode> = new Set<L1ErrorCode>([
  "l1/faulty-answer",
  "l1/not-found",
  "l1/raw-needed",
  "l1/unreadable",
]);

/** Whether another attempt or another endpoint may succeed. Any other error is a bug of ours, or we are shutting down. */
export function isEndpointFailure(error: unknown): error is Error {
  if (error instanceof RpcTransportError) return error.code !== "rpc/closed";
  if (error instanceof L1Error) return RETRIED.has(error.code);
  return error instanceof RpcError;
}

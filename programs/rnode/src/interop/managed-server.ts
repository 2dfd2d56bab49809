import { createRpcServer, type RpcServer, withModules } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { type ManagedApi, managedMethods, managedSubscriptions } from "./managed-methods.ts";

export interface ManagedServerOptions {
  readonly host: string;
  /** 0: any free one */
  readonly port: number;
  /** 32 bytes */
  readonly jwtSecret: Uint8Array;
}

/** Requests of supervisors have a few hundred bytes; answers are at most the receipts of a block. */
const LIMITS = {
  maxRequestBytes: 1024 * 1024,
  maxResponseBytes: 64 * 1024 * 1024,
  maxBatchLength: 100,
  maxDepth: 8,
  maxValues: 2_000,
  maxConnections: 16,
  maxSubscriptions: 4,
  maxBufferedBytes: 4 * 1024 * 1024,
} as const;

/** The server for a supervisor: WebSocket only, and every connection needs a token. */
export function createManagedServer(
  { host, port, jwtSecret }: ManagedServerOptions,
  api: ManagedApi,
  { clock, log, metrics }: { readonly clock: Clock; readonly log: Logger; readonly metrics: MetricFactory },
): RpcServer {
  return createRpcServer({
    // The token authenticates, so the name that a supervisor uses for this machine does not matter.
    ws: { host, port, vhosts: ["*"], subscriptions: managedSubscriptions(api) },
    methods: withModules(managedMethods(api)),
    jwtSecret,
    clock,
    limits: LIMITS,
    log,
    metrics,
  });
}

import { DEFAULT_RPC_LIMITS, type RpcServerLimits } from "@rnode/jsonrpc";
import type { ClientOptions } from "../options.ts";

/** What one reader may hold in memory for its clients. */
export interface ReaderLimits {
  readonly server: Pick<RpcServerLimits, "maxUnsentBytes" | "maxIncomingBytes">;
  /** of the requests that wait for the thread for costly ones; of those that wait for other processes, as much again */
  readonly maxWaitingBytes: number;
}

/**
 * A reader's part of what all readers together may hold: unsent answers, requests that are still arriving, requests that wait. Each has an
 * equal part, also while others do not run, so that the sum never depends on who was asked first.
 */
export function limitsOfReader({ costly }: Pick<ClientOptions, "costly">, count: number): ReaderLimits {
  const part = (bytes: number): number => Math.ceil(bytes / count);
  return {
    server: {
      maxUnsentBytes: part(DEFAULT_RPC_LIMITS.maxUnsentBytes),
      maxIncomingBytes: part(DEFAULT_RPC_LIMITS.maxIncomingBytes),
    },
    maxWaitingBytes: part(costly.maxWaitingBytes),
  };
}

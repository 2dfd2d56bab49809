import type { CollectedMetrics, LogFields, LogLevel } from "@rnode/observe";
import type { SentError } from "@rnode/peering";
import type { BlockPeer, HeaderRequest, PeerFault } from "../api.ts";
import type { Announcement, DevP2PConfig, DevP2PIdentity, PeerAdmin, ReceivedTransaction } from "../network.ts";

/** What the thread is started with. */
export interface ThreadStart {
  readonly config: DevP2PConfig;
  readonly level: LogLevel;
  /** undefined: no metrics are kept */
  readonly metricsPrefix: string | undefined;
  readonly shared: Int32Array<SharedArrayBuffer>;
}

/** Indices in `shared`. What is under way to the process: it counts down what it has taken. */
export const LOG_LINES = 0;
export const TRANSACTIONS = 1;
export const TRANSACTION_BYTES = 2;
/** grows while the thread's event loop turns */
export const HEARTBEAT = 3;
export const SHARED_COUNT = 4;

export const MAX_LOG_LINES = 1_000;
/** Beyond, transactions of peers are dropped while the process does not get to take them. */
export const MAX_TRANSACTIONS = 4_096;
export const MAX_TRANSACTION_BYTES = 16 * 1024 * 1024;
export const HEARTBEAT_INTERVAL_MS = 1_000;

/** A question to a peer. */
export type PeerRequest =
  | { readonly what: "headers"; readonly request: HeaderRequest }
  | { readonly what: "bodies" | "receipts"; readonly hashes: readonly Uint8Array[] };

/** A peer as the process knows it. */
export type PeerView = Pick<BlockPeer, "id" | "head">;

export type ToThread =
  | { readonly kind: "request"; readonly id: number; readonly peer: string; readonly request: PeerRequest }
  /** nobody waits for this request any more */
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "report"; readonly peer: string; readonly fault: PeerFault; readonly detail: string }
  | { readonly kind: "announce"; readonly transactions: readonly Announcement[] }
  | { readonly kind: "pooled"; readonly id: number; readonly transactions: readonly Uint8Array[] }
  | { readonly kind: "call"; readonly id: number; readonly method: keyof PeerAdmin; readonly args: readonly string[] }
  | { readonly kind: "collect"; readonly id: number }
  | { readonly kind: "level"; readonly level: LogLevel }
  | { readonly kind: "close" };

export type FromThread =
  | { readonly kind: "started" | "identity"; readonly identity: DevP2PIdentity }
  | { readonly kind: "failed"; readonly error: SentError }
  | { readonly kind: "peers"; readonly peers: readonly PeerView[] }
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: SentError }
  | { readonly kind: "transactions"; readonly transactions: readonly ReceivedTransaction[]; readonly bytes: number }
  | { readonly kind: "ask-pooled"; readonly id: number; readonly hashes: readonly Uint8Array[] }
  | { readonly kind: "metrics"; readonly id: number; readonly values: CollectedMetrics }
  | {
      readonly kind: "log";
      readonly level: Exclude<LogLevel, "silent">;
      readonly text: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

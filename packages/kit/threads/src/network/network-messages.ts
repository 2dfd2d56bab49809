import type { MessagePort } from "node:worker_threads";
import type { LogLevel } from "@rnode/observe";
import type { SentError } from "./sent-error.ts";
import type { LogLine } from "./sent-logger.ts";

/** What one network says otherwise than another. All of it is plain data that can cross between threads. */
export interface NetworkTypes {
  readonly config: object;
  /** who the node is on the network */
  readonly identity: object;
  /** the network's own messages, to its thread and from there */
  readonly to: object;
  readonly from: object;
}

/** Starts a network in its thread. */
export interface NetworkStart<Config> {
  readonly config: Config;
  readonly level: LogLevel;
  /** `undefined`: no metrics */
  readonly metricsPrefix: string | undefined;
  readonly shared: Int32Array<SharedArrayBuffer>;
  readonly port: MessagePort;
  /** for what goes before everything else */
  readonly urgent: MessagePort;
}

/** Indices in `shared`. */
/** grows while the thread's event loop turns */
export const HEARTBEAT = 0;
/** log lines in flight to the process, which subtracts the processed ones */
export const LOG_LINES = 1;
/** From here on, the network's own. */
export const FIRST_COUNTER = 2;

export type ToThread<Own> =
  | { readonly kind: "own"; readonly message: Own }
  | { readonly kind: "collect"; readonly id: number }
  | { readonly kind: "level"; readonly level: LogLevel }
  | { readonly kind: "close" };

export type FromThread<Own, Identity> =
  | { readonly kind: "own"; readonly message: Own }
  | { readonly kind: "started" | "identity"; readonly identity: Identity }
  | { readonly kind: "failed"; readonly error: SentError }
  /** as it was told to; nothing follows */
  | { readonly kind: "closed" }
  /** the answer to the request with this id */
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: SentError }
  | ({ readonly kind: "log" } & LogLine);

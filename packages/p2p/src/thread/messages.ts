import type { MessagePort } from "node:worker_threads";
import type { CollectedMetrics, LogFields, LogLevel } from "@rnode/observe";
import type { SentError } from "@rnode/peering";
import type { P2PConfig, P2PIdentity, Published, UnsafeGap } from "../network.ts";
import type { PeerApi } from "../peers/peer-api.ts";
import type { P2PSetting } from "../settings-error.ts";
import type { EncodedBlock } from "./encoded-block.ts";

/** What the thread is started with. */
export interface ThreadStart {
  readonly config: P2PConfig;
  readonly level: LogLevel;
  /** undefined: no metrics are kept */
  readonly metricsPrefix: string | undefined;
  readonly shared: Int32Array<SharedArrayBuffer>;
  /** for what goes before everything else: blocks to publish */
  readonly urgent: MessagePort;
}

/** Indices in `shared`. What is under way to the process: it counts down what it has taken. */
export const PAYLOAD_BYTES = 0;
export const PAYLOADS = 1;
export const LOG_LINES = 2;
/** grows while the thread's event loop turns */
export const HEARTBEAT = 3;
export const SHARED_COUNT = 4;

/** Beyond, blocks of the network are dropped while the process does not get to take them. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
export const MAX_PAYLOADS = 256;
export const MAX_LOG_LINES = 1_000;

export const HEARTBEAT_INTERVAL_MS = 1_000;

export type PeerApiMethod = keyof PeerApi;

export type ToThread =
  | { readonly kind: "signer"; readonly address: Uint8Array }
  | { readonly kind: "gap"; readonly gap: UnsafeGap }
  | { readonly kind: "call"; readonly id: number; readonly method: PeerApiMethod; readonly args: readonly unknown[] }
  | { readonly kind: "collect"; readonly id: number }
  /** the answer to `ask`; without a block and an error: there is no such block */
  | { readonly kind: "block"; readonly id: number; readonly block?: EncodedBlock | undefined; readonly error?: string | undefined }
  | { readonly kind: "level"; readonly level: LogLevel }
  | { readonly kind: "close" };

export interface Publish {
  readonly id: number;
  readonly block: EncodedBlock;
  readonly signature: Uint8Array;
}

export type FromThread =
  | { readonly kind: "started" | "identity"; readonly identity: P2PIdentity }
  | { readonly kind: "failed"; readonly setting: P2PSetting | undefined; readonly error: SentError }
  | { readonly kind: "payload"; readonly block: EncodedBlock; readonly from: string }
  | { readonly kind: "ask"; readonly id: number; readonly number: number }
  | { readonly kind: "result"; readonly id: number; readonly value: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: SentError }
  | { readonly kind: "published"; readonly id: number; readonly published: Published }
  | { readonly kind: "metrics"; readonly id: number; readonly values: CollectedMetrics }
  | {
      readonly kind: "log";
      readonly level: Exclude<LogLevel, "silent">;
      readonly text: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

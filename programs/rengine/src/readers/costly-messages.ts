import type { LargeRequest, RequestText } from "@rnode/jsonrpc";
import type { MessageToReader, MessageToWriter, ReaderStart } from "./messages.ts";

/** The start message for the thread of costly requests. */
export interface CostlyStart extends Pick<ReaderStart, "reader" | "options" | "config" | "startingBlock"> {
  /** one number for each slot of a concurrent request; not 0: the request in that slot was abandoned */
  readonly givenUp: Int32Array;
}

/** A JSON-RPC request with the id 0, or a large one, of a client, that is only to be taken apart. */
interface Run {
  readonly kind: "run" | "read";
  readonly id: number;
  /** index into `givenUp` */
  readonly place: number;
  readonly text: RequestText;
}

/** The answer to a request as text or, if that is long, the bytes of its result; or a large request in parts. */
export type CostlyResult = string | Uint8Array<ArrayBuffer> | LargeRequest;

interface Done {
  readonly kind: "done";
  readonly id: number;
  readonly result: CostlyResult;
  /** how long the request took */
  readonly workedMs: number;
  /** gas burned */
  readonly gas: number;
}

export type MessageToCostly =
  | Run
  /** what another process has answered to a call of this thread */
  | { readonly kind: "answer"; readonly id: number; readonly text: string }
  | Extract<MessageToReader, { kind: "part" }>
  | { readonly kind: "close" };

export type MessageFromCostly =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly reason: string }
  | Done
  | Extract<MessageToWriter, { kind: "call" }>;

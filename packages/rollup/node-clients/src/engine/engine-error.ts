import { RpcError, RpcTransportError } from "@rnode/jsonrpc";
import { codedErrors } from "@rnode/primitives";

/** Failures of Engine API requests. The status of a payload is a result, not an error. */
export type EngineErrorCode =
  /** no answer: refused, timed out or dropped. Temporary */
  | "engine/unavailable"
  /**
   * HTTP 401: the JWT secrets or the clocks differ; `reason` is the engine's explanation. Temporary, because an
   * operator may fix it
   */
  | "engine/unauthorized"
  /** a JSON-RPC error that is not one of the Engine API's; `rpcCode` is its code. Temporary */
  | "engine/rpc-error"
  /** an answer that the Engine API does not allow */
  | "engine/bad-answer";

export class EngineError extends codedErrors<EngineErrorCode>({
  "engine/unavailable": "the execution client does not answer {method}: {reason}",
  "engine/unauthorized": "the execution client refuses the token of {method}: {reason}",
  "engine/rpc-error": "the execution client answers {method} with error {rpcCode}: {reason}",
  "engine/bad-answer": "the execution client's answer to {method} is not one that the method allows",
}) {}

/**
 * What this package needs of a JSON-RPC client: one method. A JSON-RPC error rejects with an error that has the numeric
 * `code`.
 */
export interface EngineRpc {
  call(method: string, params: readonly unknown[]): Promise<unknown>;
}

/** Codes of the Engine API itself: −38000 and below. */
export const ENGINE_CODES = {
  unknownPayload: -38001,
  invalidForkchoiceState: -38002,
  invalidPayloadAttributes: -38003,
  tooLargeRequest: -38004,
  unsupportedFork: -38005,
} as const;

export const isEngineCode = (code: number): boolean => code <= -38000 && code > -38100;

const METHOD_NOT_FOUND = -32601;
const UNKNOWN_METHOD = /method.*(not (found|exist|available|enabled|supported)|does not exist)|unknown method|unsupported method/i;

/** Whether an endpoint says that it does not have the method, or does not serve its namespace. */
export const isUnknownMethod = ({ data }: EngineError): boolean =>
  data.rpcCode === METHOD_NOT_FOUND || (data.rpcCode !== undefined && UNKNOWN_METHOD.test(String(data.reason)));

/** Turns the rejection of a call into an `EngineError`; rethrows anything that is not a failure of the call. */
export function toEngineError(method: string, error: unknown): EngineError {
  if (error instanceof EngineError) return error;
  if (error instanceof RpcError) {
    return new EngineError("engine/rpc-error", { method, rpcCode: error.code, reason: error.message }, { cause: error });
  }
  if (error instanceof RpcTransportError) {
    if (error.code === "rpc/http-status" && error.data.status === 401) {
      return new EngineError("engine/unauthorized", { method, reason: String(error.data.body) }, { cause: error });
    }
    return new EngineError("engine/unavailable", { method, reason: error.message }, { cause: error });
  }
  throw error;
}

import { INVALID_PARAMS, type RpcErrorBody } from "@rnode/jsonrpc";
import { isCodedError } from "@rnode/primitives";
import { EXECUTION_TOO_LONG } from "@rnode/protocol";

/** Errors of the Engine API. Spec: execution-apis src/engine/common.md#errors */
const ENGINE_ERRORS = {
  "unknown-payload": { code: -38001, message: "Unknown payload" },
  "invalid-forkchoice": { code: -38002, message: "Invalid forkchoice state" },
  "invalid-attributes": { code: -38003, message: "Invalid payload attributes" },
  "too-large": { code: -38004, message: "Too large request" },
  "unsupported-fork": { code: -38005, message: "Unsupported fork" },
  "too-deep": { code: -38006, message: "Too deep reorg" },
  "invalid-params": { code: INVALID_PARAMS, message: "Invalid parameters" },
} as const satisfies Record<string, RpcErrorBody>;

export type EngineErrorName = keyof typeof ENGINE_ERRORS;

/** Source: execution-apis src/engine/common.md#errors, "Generic client error while processing request" */
const SERVER_ERROR = -32000;

/** The answer of a method whose execution of a block was stopped; undefined for any other error. */
export function stoppedExecution(error: unknown): RpcErrorBody | undefined {
  if (!isCodedError(error, "chain/execution-too-long")) return undefined;
  return { code: SERVER_ERROR, message: error.message, data: { err: EXECUTION_TOO_LONG } };
}

/** @param detail what exactly is wrong; placed in `data.err`, as other clients do */
export function engineError(name: EngineErrorName, detail?: string): RpcErrorBody {
  const { code, message } = ENGINE_ERRORS[name];
  return detail === undefined ? { code, message } : { code, message, data: { err: detail } };
}

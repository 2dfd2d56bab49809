import type { RpcOutcome } from "./rpc-client-types.ts";
import { RpcError, type RpcErrorBody } from "./rpc-error.ts";

/** nesting of an answer; call tracers nest two levels for each of 1,024 calls */
export const MAX_DEPTH = 4096;

export const requestOf = (id: number, method: string, params: readonly unknown[] | undefined): object => ({
  jsonrpc: "2.0",
  id,
  method,
  params: params ?? [],
});

/** The outcome in a response object; `undefined` if it is none. */
export function outcomeOf(response: unknown): RpcOutcome | undefined {
  if (typeof response !== "object" || response === null) return undefined;
  if ("error" in response && response.error !== null && response.error !== undefined) {
    const { code, message, data } = response.error as Partial<RpcErrorBody>;
    if (typeof code !== "number") return undefined;
    return { kind: "error", error: new RpcError(code, typeof message === "string" ? message : "", data) };
  }
  return "result" in response ? { kind: "result", result: response.result } : undefined;
}

/** `undefined`: not JSON (no JSON text parses to undefined). */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  if (error.message !== "") return error.message;
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}

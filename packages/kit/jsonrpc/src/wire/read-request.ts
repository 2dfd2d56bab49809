import type { RpcDialect } from "./dialect.ts";
import { hasMoreValues, isDeeperThan } from "./json-depth.ts";
import { buffersOfRequest, type RequestText, requestTextOf, VERY_LARGE_BYTES } from "./request-body.ts";
import type { RpcErrorBody } from "./rpc-error.ts";

export interface RequestLimits {
  readonly maxBatchLength: number;
  /** nesting of the request */
  readonly maxDepth: number;
  /** members of objects and elements of lists, of a request or batch together */
  readonly maxValues: number;
}

/** One request, or the parts of a batch, unchecked. */
export type ParsedRequest =
  | { readonly refusal: RpcErrorBody }
  | { readonly isBatch: false; readonly request: unknown }
  | { readonly isBatch: true; readonly requests: readonly unknown[] };

export function parseRequest(text: string, limits: RequestLimits, dialect: RpcDialect): ParsedRequest {
  const { maxDepth, maxValues, maxBatchLength } = limits;
  if (hasMoreValues(text, maxValues)) {
    return { refusal: dialect.invalidRequest(`more than ${maxValues} members of objects and elements of lists`) };
  }
  if (isDeeperThan(text, maxDepth)) return { refusal: dialect.invalidRequest(`nested deeper than ${maxDepth}`) };
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { refusal: dialect.parseError(error instanceof Error ? error.message.slice(0, 120) : "not JSON") };
  }
  if (!Array.isArray(parsed)) return { isBatch: false, request: parsed };
  if (parsed.length === 0) return { refusal: dialect.invalidRequest("empty batch") };
  if (parsed.length > maxBatchLength) return { refusal: dialect.batchTooLarge(maxBatchLength) };
  return { isBatch: true, requests: parsed };
}

/** Part of a request that was read in another thread. */
export type LargePart =
  /** small enough to be read here */
  | { readonly text: string }
  /** large; the text is the same request with the id 0 */
  | { readonly text: RequestText; readonly method: string; readonly id: unknown }
  /** the error of the request */
  | { readonly refusal: RpcErrorBody; readonly id: unknown };

/** A large request, taken apart in another thread. It can be sent between threads. */
export type LargeRequest = { readonly refusal: RpcErrorBody } | { readonly isBatch: boolean; readonly parts: readonly LargePart[] };

/** The transfer list for `postMessage`. */
export const buffersOfLargeRequest = (request: LargeRequest): readonly ArrayBuffer[] =>
  "parts" in request ? request.parts.flatMap((part) => ("text" in part ? buffersOfRequest(part.text) : [])) : [];

/** Reads a request for the thread that answers, which reads small parts itself. */
export function readLargeRequest(text: string, limits: RequestLimits, dialect: RpcDialect): LargeRequest {
  const parsed = parseRequest(text, limits, dialect);
  if ("refusal" in parsed) return parsed;
  const requests = parsed.isBatch ? parsed.requests : [parsed.request];
  return {
    isBatch: parsed.isBatch,
    parts: requests.map((request): LargePart => {
      const own = JSON.stringify(request);
      if (own.length <= VERY_LARGE_BYTES) return { text: own };
      const invalid = whatIsInvalid(request);
      const { method, id } = (typeof request === "object" && request !== null ? request : {}) as { method: string; id?: unknown };
      if (invalid !== undefined) return { refusal: dialect.invalidRequest(invalid), id: isId(id) ? id : null };
      return { text: requestTextOf(Buffer.from(JSON.stringify({ ...(request as object), id: 0 }), "utf8")), method, id };
    }),
  };
}

/** Why a JSON value is not a request; undefined if it is one. */
export function whatIsInvalid(request: unknown): string | undefined {
  if (typeof request !== "object" || request === null || Array.isArray(request)) return "not an object";
  const { jsonrpc, method, params, id } = request as Record<string, unknown>;
  if (id !== undefined && !isId(id)) return "id must be a string, a number or null";
  // A number that JavaScript cannot represent exactly would be returned changed.
  if (typeof id === "number" && Number.isInteger(id) && !Number.isSafeInteger(id)) return "id is too large a number: send a string";
  if (jsonrpc !== "2.0") return 'jsonrpc must be "2.0"';
  if (typeof method !== "string" || method === "") return "method must be a string";
  if (params !== undefined && params !== null && typeof params !== "object") return "params must be an array or an object";
  return undefined;
}

const isId = (id: unknown): boolean => id === null || typeof id === "string" || (typeof id === "number" && Number.isFinite(id));

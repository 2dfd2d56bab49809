import type { Logger, MetricFactory } from "@rnode/observe";
import { type Answer, BatchAnswer } from "./answer-bytes.ts";
import type { RpcDialect } from "./dialect.ts";
import { hasMoreMembers, isDeeperThan } from "./json-depth.ts";
import { JsonText } from "./json-text.ts";
import type { Method, MethodTable, Params, RequestContext } from "./method-table.ts";
import { LIMIT_EXCEEDED, RpcError, type RpcErrorBody } from "./rpc-error.ts";
import { rpcMetricsOf } from "./rpc-metrics.ts";
import { ShapeError } from "./shape.ts";
import { Turns } from "./turns.ts";
import type { UnsentBudget } from "./unsent.ts";

export interface DispatchLimits {
  readonly maxBatchLength: number;
  /** of one answer, and of all answers of a batch together */
  readonly maxResponseBytes: number;
  /** nesting of the request */
  readonly maxDepth: number;
  readonly maxMembers: number;
}

export interface DispatcherOptions {
  readonly dialect: RpcDialect;
  readonly limits: DispatchLimits;
  readonly log: Logger;
  readonly metrics?: MetricFactory | undefined;
  /** of the connections that receive the answers; default: there is no bound for all answers together */
  readonly unsent?: Pick<UnsentBudget, "makeRoom" | "hold"> | undefined;
  /** shared with what else is done for the same clients; default: its own */
  readonly turns?: Turns | undefined;
  /** turns errors of the application into error objects; undefined: an error that it does not know */
  readonly mapError?: ((error: unknown, method: string) => RpcErrorBody | undefined) | undefined;
}

/** Methods that need the connection: they take precedence over the table. */
export type ConnectionMethods = (method: string) => Method | undefined;

/** The answer to one request; undefined: it was a notification. */
type AnswerText = string | undefined;

/** Turns request texts into response texts. Never throws. */
export interface Dispatcher {
  /** PERF: returns a promise only if a handler did; most answers are available at once. */
  handle(
    text: string,
    methods: MethodTable,
    context: RequestContext,
    connectionMethods?: ConnectionMethods,
  ): Answer | Promise<Answer>;
}

/** Smaller answers are always given. */
const SMALL_ANSWER_BYTES = 64 * 1024;
const NO_ROOM: RpcErrorBody = {
  code: LIMIT_EXCEEDED,
  message: "too many answers wait for their clients to read them: try again, or ask for less",
};

/** Reading such a request takes milliseconds. */
const LARGE_REQUEST_BYTES = 256 * 1024;
type HandleRest = [methods: MethodTable, context: RequestContext, connectionMethods?: ConnectionMethods];

/** After this long, a batch waits for its next turn. */
const SLICE_MS = 2;

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { dialect, limits, log, mapError, unsent } = options;
  const { turns = new Turns() } = options;
  const metrics = rpcMetricsOf(options.metrics);

  const errorText = (id: string, error: RpcErrorBody): string => `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;

  function handleOne(
    request: unknown,
    methods: MethodTable,
    context: RequestContext,
    connectionMethods: ConnectionMethods | undefined,
  ): AnswerText | Promise<AnswerText> {
    const invalid = whatIsInvalid(request);
    if (invalid !== undefined) return errorText(idText(request), dialect.invalidRequest(invalid));
    const { method: name, params, id } = request as { method: string; params?: unknown; id?: unknown };
    const declared = connectionMethods?.(name) ?? (Object.hasOwn(methods, name) ? methods[name] : undefined);
    if (declared === undefined) {
      metrics?.requests.inc({ method: "unknown", outcome: "error" });
      const isSubscription = context.transport === "http" && /^[a-z0-9]+_(?:un)?subscribe$/i.test(name);
      const error = isSubscription ? dialect.subscriptionOverHttp(name) : dialect.methodNotFound(name.slice(0, 100));
      return id === undefined ? undefined : errorText(idText(request), error);
    }
    const endTimer = metrics?.seconds.time({ method: name });
    try {
      const returned = declared.handler(readArguments(declared.params, params, dialect), context);
      if (!(returned instanceof Promise)) return succeed(name, id, endTimer, returned);
      return returned
        .then((result: unknown) => succeed(name, id, endTimer, result))
        .catch((error: unknown) => fail(name, id, endTimer, error));
    } catch (error) {
      return fail(name, id, endTimer, error);
    }
  }

  /** @throws {TypeError} the result cannot be represented in JSON */
  function succeed(name: string, id: unknown, endTimer: (() => void) | undefined, result: unknown): AnswerText {
    const text = resultText(result);
    const refusal = whyNotGiven(text.length);
    return refusal === undefined
      ? finish(name, id, endTimer, "result", text)
      : finish(name, id, endTimer, "error", JSON.stringify(refusal));
  }

  function fail(name: string, id: unknown, endTimer: (() => void) | undefined, error: unknown): AnswerText {
    return finish(name, id, endTimer, "error", JSON.stringify(bodyOfError(error, name)));
  }

  function finish(
    name: string,
    id: unknown,
    endTimer: (() => void) | undefined,
    outcome: "result" | "error",
    text: string,
  ): AnswerText {
    endTimer?.();
    metrics?.requests.inc({ method: name, outcome });
    return id === undefined ? undefined : `{"jsonrpc":"2.0","id":${textOfId(id)},"${outcome}":${text}}`;
  }

  function bodyOfError(error: unknown, name: string): RpcErrorBody {
    if (error instanceof RpcError) return error.toBody();
    const mapped = mapError?.(error, name);
    if (mapped !== undefined) return mapped;
    log.error("RPC method failed", { method: name, err: error });
    return dialect.handlerFailed;
  }

  /** One after the other: a call of the batch has taken effect before the next one is read. */
  async function handleBatch(
    requests: readonly unknown[],
    methods: MethodTable,
    context: RequestContext,
    connectionMethods: ConnectionMethods | undefined,
  ): Promise<Answer> {
    const batch = new BatchAnswer();
    let sliceStartMs = performance.now();
    let hasTurn = false;
    try {
      for (const request of requests) {
        if (performance.now() - sliceStartMs > SLICE_MS) {
          if (hasTurn) turns.charge(context, performance.now() - sliceStartMs);
          await turns.next(context);
          if (context.isGone) return undefined;
          hasTurn = true;
          sliceStartMs = performance.now();
        }
        let answer: AnswerText;
        const refusal = whyNotGiven(batch.length, 0);
        if (refusal === undefined) {
          const given = handleOne(request, methods, context, connectionMethods);
          if (given instanceof Promise) {
            const waitedFromMs = performance.now();
            answer = await given;
            sliceStartMs += performance.now() - waitedFromMs;
          } else answer = given;
        } else if (hasId(request)) answer = errorText(idText(request), refusal);
        if (answer !== undefined) {
          batch.add(answer);
          unsent?.hold(answer.length);
        }
      }
      return batch.finish();
    } finally {
      if (hasTurn) turns.charge(context, performance.now() - sliceStartMs);
      unsent?.hold(-batch.length);
    }
  }

  /**
   * Why an answer of such a size cannot be given; undefined: it can.
   *
   * @param more what it needs beyond what is held for it already
   */
  function whyNotGiven(size: number, more: number = size): RpcErrorBody | undefined {
    if (size > limits.maxResponseBytes) return dialect.responseTooLarge(limits.maxResponseBytes);
    return size > SMALL_ANSWER_BYTES && unsent?.makeRoom(more) === false ? NO_ROOM : undefined;
  }

  /** Reads a request that took long to arrive and takes long to read: one of all those in a turn of the event loop. */
  async function handleLarge(text: string, ...rest: HandleRest): Promise<Answer> {
    await turns.next(rest[1]);
    if (rest[1].isGone) return undefined;
    const startMs = performance.now();
    const answer = handleText(text, ...rest);
    turns.charge(rest[1], performance.now() - startMs);
    return answer;
  }

  function handleText(text: string, ...[methods, context, connectionMethods]: HandleRest): Answer | Promise<Answer> {
    if (isDeeperThan(text, limits.maxDepth)) {
      return errorText("null", dialect.invalidRequest(`nested deeper than ${limits.maxDepth}`));
    }
    if (hasMoreMembers(text, limits.maxMembers)) {
      return errorText("null", dialect.invalidRequest(`more than ${limits.maxMembers} members in its objects`));
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      return errorText("null", dialect.parseError(error instanceof Error ? error.message.slice(0, 120) : "not JSON"));
    }
    if (!Array.isArray(parsed)) return handleOne(parsed, methods, context, connectionMethods);
    if (parsed.length === 0) return errorText("null", dialect.invalidRequest("empty batch"));
    if (parsed.length > limits.maxBatchLength) return errorText("null", dialect.batchTooLarge(limits.maxBatchLength));
    return handleBatch(parsed, methods, context, connectionMethods);
  }

  return {
    handle: (text, ...rest) => (text.length > LARGE_REQUEST_BYTES ? handleLarge(text, ...rest) : handleText(text, ...rest)),
  };
}

/** A result as JSON text. @throws {TypeError} it cannot be represented in JSON */
function resultText(result: unknown): string {
  if (result === undefined) return "null";
  return result instanceof JsonText ? result.text : JSON.stringify(result);
}

/** Why a JSON value is not a request; undefined if it is one. */
function whatIsInvalid(request: unknown): string | undefined {
  if (typeof request !== "object" || request === null || Array.isArray(request)) return "not an object";
  const { jsonrpc, method, params, id } = request as Record<string, unknown>;
  if (id !== undefined && id !== null && typeof id !== "string" && !(typeof id === "number" && Number.isFinite(id))) {
    return "id must be a string, a number or null";
  }
  // A number that JavaScript cannot represent exactly would be returned changed.
  if (typeof id === "number" && Number.isInteger(id) && !Number.isSafeInteger(id)) return "id is too large a number: send a string";
  if (jsonrpc !== "2.0") return 'jsonrpc must be "2.0"';
  if (typeof method !== "string" || method === "") return "method must be a string";
  if (params !== undefined && params !== null && typeof params !== "object") return "params must be an array or an object";
  return undefined;
}

const hasId = (request: unknown): boolean => typeof request === "object" && request !== null && "id" in request;

/** The id to answer with: null if none could be read. */
function idText(request: unknown): string {
  return hasId(request) ? textOfId((request as { id: unknown }).id) : "null";
}

function textOfId(id: unknown): string {
  if (typeof id === "string") return JSON.stringify(id);
  return typeof id === "number" && Number.isFinite(id) ? String(id) : "null";
}

/** @throws {RpcError} −32602 with the parameter's name */
function readArguments(params: Params, given: unknown, dialect: RpcDialect): unknown[] {
  const isByName = given !== undefined && given !== null && !Array.isArray(given);
  const list: readonly unknown[] = isByName ? [] : ((given as unknown[] | null | undefined) ?? []);
  if (list.length > params.length && dialect.tooManyArguments !== undefined)
    throw asRpcError(dialect.tooManyArguments(params.length));
  const byName = isByName ? (given as Record<string, unknown>) : undefined;
  const args: unknown[] = [];
  for (let index = 0; index < params.length; index++) {
    const { name, shape, optional } = params[index]!;
    const value = byName === undefined ? list[index] : Object.hasOwn(byName, name) ? byName[name] : undefined;
    if (value === undefined || value === null) {
      if (!optional) throw asRpcError(dialect.missingArgument(index, name));
      args.push(undefined);
      continue;
    }
    try {
      args.push(shape.parse(value));
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      throw asRpcError(dialect.invalidArgument(index, name, error.message));
    }
  }
  return args;
}

const asRpcError = ({ code, message, data }: RpcErrorBody): RpcError => new RpcError(code, message, data);

import type { Logger, MetricFactory } from "@rnode/observe";
import { Turns } from "../limits/turns.ts";
import { rpcMetricsOf } from "../rpc-metrics.ts";
import { type Answer, AnswerBytes, BatchAnswer } from "../wire/answer-bytes.ts";
import type { RpcDialect } from "../wire/dialect.ts";
import { JsonText } from "../wire/json-text.ts";
import type { Method, MethodTable, Params, RequestContext } from "../wire/method-table.ts";
import { type LargePart, type LargeRequest, parseRequest, type RequestLimits, whatIsInvalid } from "../wire/read-request.ts";
import { decodeRequest, type RequestText, sizeOfRequest, VERY_LARGE_BYTES } from "../wire/request-body.ts";
import { LIMIT_EXCEEDED, RpcError, type RpcErrorBody, rpcErrorOf } from "../wire/rpc-error.ts";
import { ShapeError } from "../wire/shape.ts";
import type { UnsentBudget } from "../wire/unsent.ts";

interface DispatchLimits extends RequestLimits {
  /** of one answer, and of all answers of a batch together */
  readonly maxResponseBytes: number;
}

export interface DispatcherOptions {
  readonly dialect: RpcDialect;
  readonly limits: DispatchLimits;
  readonly log: Logger;
  readonly metrics?: MetricFactory | undefined;
  /** of the connections that receive the answers; default: there is no bound for all answers together */
  readonly unsent?: Pick<UnsentBudget, "makeRoom" | "hold"> | undefined;
  /** shared with other work for the same clients; default: its own */
  readonly turns?: Turns | undefined;
  /** reads requests that take long to read, in another thread; default: they are read here */
  readonly readLarge?: ReadLarge | undefined;
  /** maps errors of the application to error objects; `undefined` for an unknown error */
  readonly mapError?: ((error: unknown, method: string) => RpcErrorBody | undefined) | undefined;
}

/** @param text larger than `VERY_LARGE_BYTES`. @throws {RpcError} it is not read */
export type ReadLarge = (text: RequestText, client: RequestContext) => Promise<LargeRequest>;

/** Methods that need the connection: they take precedence over the table. */
type ConnectionMethods = (method: string) => Method | undefined;

/** The answer to one request; `undefined` for a notification. */
type AnswerText = Answer;

/** Turns request texts into response texts. Never throws. */
export interface Dispatcher {
  /** PERF: returns a promise only if a handler did; most answers are available at once. */
  handle(
    text: RequestText,
    methods: MethodTable,
    context: RequestContext,
    connectionMethods?: ConnectionMethods,
  ): Answer | Promise<Answer>;
}

/** A longer result is not copied, but its answer takes more writes. */
const LONG_ANSWER_BYTES = 1024 * 1024;
const ANSWER_END = Buffer.from("}");
/** Smaller answers are always given. */
const SMALL_ANSWER_BYTES = 64 * 1024;
const NO_ROOM: RpcErrorBody = {
  code: LIMIT_EXCEEDED,
  message: "too many answers wait for their clients to read them: try again, or ask for less",
};

/** Reading a request of at most this length takes no time worth counting. */
const QUICK_LENGTH = 4096;
/** Parsing a request of this size takes milliseconds. */
const LARGE_REQUEST_BYTES = 256 * 1024;
/** One request that is longer, but is answered in this thread, is refused: reading it would take too long. */
const LONGEST_HERE = 2 * 1024 * 1024;
type HandleRest = [methods: MethodTable, context: RequestContext, connectionMethods?: ConnectionMethods];

/** After this long, its reading included, a batch waits for its next turn. */
const SLICE_MS = 1;

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
    const bytes = result instanceof JsonText ? result.bytes : undefined;
    if (bytes !== undefined && whyNotGiven(bytes.length) === undefined) return finishBytes(name, id, endTimer, result as JsonText);
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

  /** PERF: one copy of the result at most, instead of a string of it, a longer string, and bytes of that again. */
  function finishBytes(name: string, id: unknown, endTimer: (() => void) | undefined, json: JsonText): AnswerText {
    const result = json.bytes!;
    endTimer?.();
    metrics?.requests.inc({ method: name, outcome: "result" });
    if (id === undefined) return undefined;
    const start = `{"jsonrpc":"2.0","id":${textOfId(id)},"result":`;
    if (result.length > LONG_ANSWER_BYTES) {
      const owned = json.isOwned ? (result as Buffer<ArrayBuffer>) : undefined;
      return new AnswerBytes([Buffer.from(start, "utf8"), result, ANSWER_END], owned);
    }
    const startBytes = Buffer.byteLength(start, "utf8");
    const answer = Buffer.allocUnsafe(startBytes + result.length + 1);
    answer.write(start, 0, "utf8");
    answer.set(result, startBytes);
    answer[answer.length - 1] = 0x7d;
    return new AnswerBytes([answer]);
  }

  function bodyOfError(error: unknown, name: string): RpcErrorBody {
    if (error instanceof RpcError) return error.toBody();
    const mapped = mapError?.(error, name);
    if (mapped !== undefined) return mapped;
    log.error("RPC method failed", { method: name, err: error });
    return dialect.handlerFailed;
  }

  /**
   * One after the other: a call of the batch has taken effect before the next one is read.
   *
   * @param startMs when its reading began
   */
  async function handleBatch<T>(
    requests: readonly T[],
    handle: (request: T) => AnswerText | Promise<AnswerText>,
    refuse: (request: T, refusal: RpcErrorBody) => AnswerText,
    context: RequestContext,
    startMs: number = performance.now(),
  ): Promise<Answer> {
    const batch = new BatchAnswer();
    let sliceStartMs = startMs;
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
          const given = handle(request);
          if (given instanceof Promise) {
            const waitedFromMs = performance.now();
            answer = await given;
            sliceStartMs += performance.now() - waitedFromMs;
          } else answer = given;
        } else answer = refuse(request, refusal);
        if (answer !== undefined) {
          const before = batch.length;
          batch.add(answer);
          unsent?.hold(batch.length - before);
        }
      }
      return batch.finish();
    } finally {
      if (hasTurn) turns.charge(context, performance.now() - sliceStartMs);
      unsent?.hold(-batch.length);
    }
  }

  /**
   * Why an answer of this size is refused; `undefined` if it is not.
   *
   * @param more bytes beyond those already reserved for it
   */
  function whyNotGiven(size: number, more: number = size): RpcErrorBody | undefined {
    if (size > limits.maxResponseBytes) return dialect.responseTooLarge(limits.maxResponseBytes);
    return size > SMALL_ANSWER_BYTES && unsent?.makeRoom(more) === false ? NO_ROOM : undefined;
  }

  /** Parses a large request: one per turn of the event loop. */
  async function handleLarge(text: RequestText, ...rest: HandleRest): Promise<Answer> {
    await turns.next(rest[1]);
    if (rest[1].isGone) return undefined;
    const startMs = performance.now();
    const answer = handleText(decodeRequest(text), ...rest);
    turns.charge(rest[1], performance.now() - startMs);
    return answer;
  }

  function handleText(text: string, ...rest: HandleRest): Answer | Promise<Answer> {
    const startMs = text.length > QUICK_LENGTH ? performance.now() : undefined; // PERF: the clock is a percent of a short request
    const parsed = parseRequest(text, limits, dialect);
    if ("refusal" in parsed) return errorText("null", parsed.refusal);
    const handle = (request: unknown): AnswerText | Promise<AnswerText> => handleOne(request, ...rest);
    return parsed.isBatch ? handleBatch(parsed.requests, handle, refuse, rest[1], startMs) : handle(parsed.request);
  }

  /** The answer of a part of a batch when there is no room for it. */
  const refuse = (request: unknown, refusal: RpcErrorBody): AnswerText =>
    hasId(request) ? errorText(idText(request), refusal) : undefined;

  /** The same for requests that are read elsewhere. */
  async function handleElsewhere(text: RequestText, readLarge: ReadLarge, ...rest: HandleRest): Promise<Answer> {
    let read: LargeRequest;
    try {
      read = await readLarge(text, rest[1]);
    } catch (error) {
      return rest[1].isGone ? undefined : errorText("null", bodyOfError(error, "a large request"));
    }
    if (rest[1].isGone) return undefined;
    if ("refusal" in read) return errorText("null", read.refusal);
    const handle = (part: LargePart): AnswerText | Promise<AnswerText> => handlePart(part, ...rest);
    const refusePart = (part: LargePart, refusal: RpcErrorBody): AnswerText =>
      "id" in part ? refuse(part, refusal) : refuse(parsePart(part), refusal);
    return read.isBatch ? handleBatch(read.parts, handle, refusePart, rest[1]) : handle(read.parts[0]!);
  }

  function handlePart(part: LargePart, ...rest: HandleRest): AnswerText | Promise<AnswerText> {
    if ("refusal" in part) return errorText(idText(part), part.refusal);
    if (!("method" in part)) return handleOne(parsePart(part), ...rest);
    const { text, method: name, id } = part;
    const [methods, context, connectionMethods] = rest;
    const declared = connectionMethods?.(name) ?? (Object.hasOwn(methods, name) ? methods[name] : undefined);
    if (declared?.elsewhere !== undefined) {
      const endTimer = metrics?.seconds.time({ method: name });
      return declared
        .elsewhere(text, context)
        .then((result) => succeed(name, id, endTimer, result))
        .catch((error: unknown) => fail(name, id, endTimer, error));
    }
    if (sizeOfRequest(text) > LONGEST_HERE) return fail(name, id, undefined, rpcErrorOf(dialect.requestTooLarge(LONGEST_HERE)));
    return handleOne({ ...parsePart(part), id }, ...rest);
  }

  const { readLarge } = options;
  return {
    handle(text, ...rest) {
      if (readLarge !== undefined && sizeOfRequest(text) > VERY_LARGE_BYTES) return handleElsewhere(text, readLarge, ...rest);
      if (typeof text !== "string" || text.length > LARGE_REQUEST_BYTES) return handleLarge(text, ...rest);
      return handleText(text, ...rest);
    },
  };
}

const parsePart = ({ text }: { readonly text: RequestText }): Record<string, unknown> =>
  JSON.parse(decodeRequest(text)) as Record<string, unknown>;

/** A result as JSON text. @throws {TypeError} it cannot be represented in JSON */
function resultText(result: unknown): string {
  if (result === undefined) return "null";
  return result instanceof JsonText ? result.text : JSON.stringify(result);
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
    throw rpcErrorOf(dialect.tooManyArguments(params.length));
  const byName = isByName ? (given as Record<string, unknown>) : undefined;
  const args: unknown[] = [];
  for (let index = 0; index < params.length; index++) {
    const { name, shape, optional, mustBePresent = false, nullFault, aliases = [] } = params[index]!;
    const named = byName && [name, ...aliases].find((each) => Object.hasOwn(byName, each));
    const value = byName === undefined ? list[index] : named === undefined ? undefined : byName[named];
    if (value === null && nullFault !== undefined) throw rpcErrorOf(nullFault(index));
    if (value === undefined || value === null) {
      if (!optional || (mustBePresent && value === undefined)) throw rpcErrorOf(dialect.missingArgument(index, name));
      args.push(undefined);
      continue;
    }
    try {
      args.push(shape.parse(value));
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      throw rpcErrorOf(dialect.invalidArgument(index, name, error.message));
    }
  }
  return args;
}

import {
  type ApiMethod,
  type ApiMethods,
  type CostlyKind,
  type CostlyMethod,
  isCostly,
  isMissing,
  tagOfFilterId,
} from "@rnode/eth-api";
import {
  INTERNAL_ERROR,
  JsonText,
  type Method,
  type MethodTable,
  type Params,
  type RequestContext,
  type RequestText,
  type RpcErrorBody,
  rpcErrorOf,
} from "@rnode/jsonrpc";
import { isOverrun, OVERRUN, type ShortWork } from "./short-work.ts";

/** Sends a JSON-RPC request with the id 0 to another process. */
export interface OtherProcesses {
  /** @param reader undefined: the writer. @throws {RpcError} it was not sent */
  ask(text: string, client: RequestContext, reader?: number): Promise<string>;
}

/** Runs requests that take long, elsewhere. */
export interface CostlyRunner {
  /** @param text a request with the id 0. @returns its answer. @throws {RpcError} there is none */
  run(client: RequestContext, kind: CostlyKind, text: RequestText): Promise<string | Uint8Array<ArrayBuffer>>;
}

export interface RoutingOptions {
  /** number of this reader */
  readonly reader: number;
  readonly count: number;
  readonly elsewhere: OtherProcesses;
  /** Makes subsequent reads see every commit made so far. */
  readonly refresh: () => void;
  readonly filterNotFound: RpcErrorBody;
  /** where costly requests are attempted first */
  readonly short: Pick<ShortWork, "attempt">;
  /** where those go that take long */
  readonly costly: CostlyRunner;
}

/** A parameter before and after parsing. */
interface Read {
  readonly raw: unknown;
  readonly value: unknown;
}

/** so long that handing over bytes costs less than copying text */
const LONG_ANSWER_LENGTH = 32 * 1024;
const RESULT_START = '{"jsonrpc":"2.0","id":0,"result":';

/**
 * The methods of a listener as a reader serves them: each runs in the process where it belongs. Parameters are parsed, and rejected, in
 * the reader.
 */
export function routeMethods(methods: ApiMethods, options: RoutingOptions): MethodTable {
  return Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, routed(name, method, options)]));
}

function routed(name: string, method: ApiMethod, options: RoutingOptions): Method {
  const { reader, count, elsewhere, refresh, filterNotFound } = options;
  const there = async (read: readonly (Read | undefined)[], client: RequestContext, target?: number): Promise<JsonText> =>
    resultOf(await elsewhere.ask(requestText(name, rawOf(read)), client, target));
  const here =
    (handler: Method["handler"]): Method["handler"] =>
    (args, context) => {
      refresh();
      return handler(args, context);
    };
  const choose = (handler: ChoosingHandler): Method => choosing(method, handler);

  switch (method.runs) {
    case "reader":
      return isCostly(method) ? routedByCost(name, method, options) : { ...method, handler: here(method.handler) };
    case "writer":
      return choose((read, _, context) => there(read, context));
    case "reader-first": {
      const find = here(method.handler);
      return choose((read, args, context) => {
        const found = find(args, context);
        if (found instanceof Promise) return found.then((result: unknown) => (isMissing(result) ? there(read, context) : result));
        return isMissing(found) ? there(read, context) : found;
      });
    }
    case "filter-owner": {
      const answer = here(method.handler);
      return choose((read, args, context) => {
        const owner = tagOfFilterId(String(args[0]));
        if (owner === reader) return answer(args, context);
        if (owner !== undefined && owner < count) return there(read, context, owner);
        if (method.ifUnknown !== undefined) return method.ifUnknown;
        throw rpcErrorOf(filterNotFound);
      });
    }
  }
}

/** A costly method is attempted here, unless it traces. If that takes too long, it begins again in the thread for such requests. */
function routedByCost(name: string, method: CostlyMethod, { refresh, short, costly }: RoutingOptions): Method {
  const elsewhere = async (text: RequestText, context: RequestContext): Promise<JsonText> =>
    resultOf(await costly.run(context, method.cost, text));
  const attempted = choosing(method, (read, args, context) => {
    const aside = (): Promise<JsonText> => elsewhere(requestText(name, rawOf(read)), context);
    if (method.cost === "trace") return aside();
    const found = short.attempt(context, (work) => {
      refresh();
      return method.handler(args, work, context);
    });
    if (found === OVERRUN) return aside();
    if (!(found instanceof Promise)) return found;
    return found.catch((error: unknown) => {
      if (isOverrun(error)) return aside();
      throw error;
    });
  });
  return { ...attempted, elsewhere };
}

type ChoosingHandler = (read: readonly (Read | undefined)[], args: readonly unknown[], context: RequestContext) => unknown;

/** A method whose handler also gets the parameters as they were sent. */
const choosing = (method: ApiMethod, handler: ChoosingHandler): Method => ({
  ...method,
  params: rememberingParams(method.params),
  handler: (args, context) => {
    const read = args as readonly (Read | undefined)[];
    return handler(read, valuesOf(read), context);
  },
});

const rawOf = (read: readonly (Read | undefined)[]): readonly unknown[] => read.map((arg) => arg?.raw ?? null);

const valuesOf = (read: readonly (Read | undefined)[]): readonly unknown[] => read.map((arg) => arg?.value);

const rememberingParams = (params: Params): Params =>
  params.map((param) => ({
    ...param,
    shape: { schema: param.shape.schema, parse: (raw: unknown): Read => ({ raw, value: param.shape.parse(raw) }) },
  }));

/** A request for another process. Missing parameters at the end are left out. */
export function requestText(method: string, given: readonly unknown[]): string {
  const params = [...given];
  while (params.at(-1) === null) params.pop();
  return JSON.stringify({ jsonrpc: "2.0", id: 0, method, params });
}

/**
 * The bytes of the result in a long answer, in a separate buffer that can be transferred to another thread, because encoding
 * megabytes takes milliseconds. undefined: the answer is short, not ASCII, or an error.
 */
export function bytesOfLongResult(answer: string): Uint8Array<ArrayBuffer> | undefined {
  if (answer.length < LONG_ANSWER_LENGTH || !answer.startsWith(RESULT_START)) return undefined;
  const result = answer.slice(RESULT_START.length, -1);
  const bytes = Buffer.from(result, "utf8"); // longer than what Node.js takes from its pool
  return bytes.length === result.length ? bytes : undefined;
}

/** The result in an answer, as JSON. @param answer text, or the bytes of the result. @throws {RpcError} the answer is an error */
export function resultOf(answer: string | Uint8Array<ArrayBuffer>): JsonText {
  if (typeof answer !== "string") return new JsonText(Buffer.from(answer.buffer, answer.byteOffset, answer.length));
  if (answer.startsWith(RESULT_START)) return new JsonText(answer.slice(RESULT_START.length, -1));
  const { error } = JSON.parse(answer) as { error?: RpcErrorBody };
  throw rpcErrorOf(error ?? { code: INTERNAL_ERROR, message: "no answer" });
}

export const errorAnswer = (error: RpcErrorBody): string => JSON.stringify({ jsonrpc: "2.0", id: 0, error });

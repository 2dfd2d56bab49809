import { tagOfFilterId } from "@rnode/eth-api";
import { INTERNAL_ERROR, JsonText, type Method, type MethodTable, type Params, RpcError, type RpcErrorBody } from "@rnode/jsonrpc";
import { classOfMethod, type MethodClass } from "./method-classes.ts";

/** Asks another process, with a JSON-RPC request whose id is 0. */
export interface Elsewhere {
  /** @param reader undefined: the writer */
  ask(text: string, reader?: number): Promise<string>;
}

export interface RoutingOptions {
  /** of this reader */
  readonly reader: number;
  readonly count: number;
  readonly elsewhere: Elsewhere;
  /** Makes the reads that follow see every commit that came before. */
  readonly refresh: () => void;
  readonly filterNotFound: RpcErrorBody;
}

/** What a parameter was before and after it was read. */
interface Read {
  readonly raw: unknown;
  readonly value: unknown;
}

const RESULT_START = '{"jsonrpc":"2.0","id":0,"result":';

/** The methods of a listener as a reader serves them: each runs where it belongs. Parameters are read, and refused, here. */
export function routeMethods(methods: MethodTable, options: RoutingOptions): MethodTable {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      routed(name, method, classOfMethod(name) ?? "writer", methods, options),
    ]),
  );
}

function routed(name: string, method: Method, kind: MethodClass, methods: MethodTable, options: RoutingOptions): Method {
  const { reader, count, elsewhere, refresh, filterNotFound } = options;
  const here: Method["handler"] = (args, context) => {
    refresh();
    return method.handler(args, context);
  };
  const badBlock = async (hash: unknown): Promise<unknown> => {
    const answer = await elsewhere.ask(requestText("debug_getBadBlocks", []));
    const blocks = JSON.parse(resultOf(answer).text) as readonly { readonly hash: string; readonly rlp: string }[];
    return blocks.find((block) => block.hash === String(hash).toLowerCase())?.rlp;
  };
  const there = async (read: readonly (Read | undefined)[], target?: number): Promise<JsonText> =>
    resultOf(await elsewhere.ask(requestText(name, read), target));
  const choose = (
    handler: (args: readonly unknown[], read: readonly (Read | undefined)[], context: Parameters<Method["handler"]>[1]) => unknown,
  ): Method => ({
    ...method,
    params: rememberingParams(method.params),
    handler: (args, context) => {
      const read = args as readonly (Read | undefined)[];
      return handler(
        read.map((arg) => arg?.value),
        read,
        context,
      );
    },
  });

  switch (kind) {
    case "reader":
      return { ...method, handler: here };
    case "writer":
      return choose((_, read) => there(read));
    case "reader-first":
      return choose((args, read, context) => {
        const found = here(args, context);
        if (found instanceof Promise) return found.then((result: unknown) => (isMissing(result) ? there(read) : result));
        return isMissing(found) ? there(read) : found;
      });
    case "pending":
      return choose((args, read, context) => (read.some((arg) => arg?.raw === "pending") ? there(read) : here(args, context)));
    case "bad-block":
      return choose(async (_, read, context) => {
        const rlp = await badBlock(read[0]?.raw);
        const traceBlock = methods.debug_traceBlock;
        if (rlp === undefined || traceBlock === undefined) return there(read); // says that there is none
        refresh();
        const args = [rlp, read[1]?.raw].map((raw, index) =>
          raw === undefined ? raw : traceBlock.params[index]?.shape.parse(raw),
        );
        return traceBlock.handler(args, context);
      });
    case "filter-owner":
      return choose((args, read, context) => {
        const owner = tagOfFilterId(String(args[0]));
        if (owner === reader) return here(args, context);
        if (owner !== undefined && owner < count) return there(read, owner);
        const { code, message, data } = filterNotFound;
        throw new RpcError(code, message, data);
      });
  }
}

/** Nothing found: null, or no bytes where the answer is bytes. */
const isMissing = (result: unknown): boolean => result === null || result === undefined || result === "0x";

const rememberingParams = (params: Params): Params =>
  params.map((param) => ({
    ...param,
    shape: { schema: param.shape.schema, parse: (raw: unknown): Read => ({ raw, value: param.shape.parse(raw) }) },
  }));

const requestText = (method: string, read: readonly (Read | undefined)[]): string => {
  const params = read.map((arg) => arg?.raw ?? null);
  while (params.at(-1) === null) params.pop();
  return JSON.stringify({ jsonrpc: "2.0", id: 0, method, params });
};

/** The result of an answer, as it is. @throws {RpcError} the error of the answer */
export function resultOf(answer: string): JsonText {
  if (answer.startsWith(RESULT_START)) return new JsonText(answer.slice(RESULT_START.length, -1));
  const { error } = JSON.parse(answer) as { error?: RpcErrorBody };
  throw error === undefined ? new RpcError(INTERNAL_ERROR, "no answer") : new RpcError(error.code, error.message, error.data);
}

export const errorAnswer = (error: RpcErrorBody): string => JSON.stringify({ jsonrpc: "2.0", id: 0, error });

import type { ArgsOf, Method, MethodDocumentation, MethodTable, Params, RequestContext } from "@rnode/jsonrpc";
import type { WriteServices } from "./services.ts";

/*
 * Where a method runs. One process owns the chain and the pool: the writer. Other processes, the readers, may read the same database
 * and serve users. A method that needs something only the writer has receives it as an argument, which only the writer can supply.
 */

type Handler<Args> = (args: Args, context: RequestContext) => unknown;
type WriterHandler<Args> = (args: Args, writer: WriteServices) => unknown;

/** Runs in the process that received the request, from the database alone. Expensive methods belong here. */
interface InReader<Args> {
  readonly runs: "reader";
  readonly handler: Handler<Args>;
}

/**
 * Runs first in the process that received the request. What is not found there may be in the writer's memory: a block that fork choice
 * has not chosen, which the same handler finds there, or a transaction in the pool, which `inWriter` finds.
 */
interface InReaderFirst<Args> {
  readonly runs: "reader-first";
  readonly handler: Handler<Args>;
  readonly inWriter?: WriterHandler<Args>;
}

/** Runs in the process that keeps the filter. The first parameter is the filter's id, which contains the number of that process. */
interface InFilterOwner<Args> {
  readonly runs: "filter-owner";
  readonly handler: Handler<Args>;
}

/** Runs in the process that owns the chain. */
interface InWriter<Args> {
  readonly runs: "writer";
  readonly handler: WriterHandler<Args>;
}

type Placed<Args> = InReader<Args> | InReaderFirst<Args> | InFilterOwner<Args> | InWriter<Args>;

/** A method of the public namespaces: how its parameters are parsed, what it returns, and where it runs. */
export type ApiMethod = MethodDocumentation & { readonly params: Params } & Placed<readonly unknown[]>;

/** keyed by full name, such as `eth_getBalance` */
export type ApiMethods = Readonly<Record<string, ApiMethod>>;

export function method<const P extends Params>(
  declaration: MethodDocumentation & { readonly params: P } & Placed<ArgsOf<P>>,
): ApiMethod {
  return declaration as unknown as ApiMethod;
}

/** Whether nothing was found: null, or empty bytes where the answer is bytes. */
export const isMissing = (result: unknown): boolean => result === null || result === undefined || result === "0x";

/** The methods as served by the process that owns the chain, where all of them run. */
export function methodsInWriter(methods: ApiMethods, writer: WriteServices): MethodTable {
  return Object.fromEntries(Object.entries(methods).map(([name, own]) => [name, methodInWriter(own, writer)]));
}

function methodInWriter(own: ApiMethod, writer: WriteServices): Method {
  switch (own.runs) {
    case "reader":
    case "filter-owner":
      return own;
    case "writer":
      return { ...own, handler: (args) => own.handler(args, writer) };
    case "reader-first": {
      const { handler, inWriter } = own;
      if (inWriter === undefined) return own;
      const orElse = (found: unknown, args: readonly unknown[]) => (isMissing(found) ? inWriter(args, writer) : found);
      return {
        ...own,
        handler: (args, context) => {
          const found = handler(args, context);
          return found instanceof Promise ? found.then((result: unknown) => orElse(result, args)) : orElse(found, args);
        },
      };
    }
  }
}

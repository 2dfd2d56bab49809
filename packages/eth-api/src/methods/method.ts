import type { ArgsOf, Method, MethodDocumentation, MethodTable, Params, RequestContext } from "@rnode/jsonrpc";
import type { WriteServices } from "./services.ts";

/*
 * Where a method runs. One process owns the chain and the pool (the writer); others may read the same database and serve users (readers).
 * A method that needs what only the writer has gets it as an argument, and nobody but the writer can give it that.
 */

type Handler<Args> = (args: Args, context: RequestContext) => unknown;
type WriterHandler<Args> = (args: Args, writer: WriteServices) => unknown;

/** In the process that was asked, from the database alone. What costs time belongs here. */
interface InReader<Args> {
  readonly runs: "reader";
  readonly handler: Handler<Args>;
}

/**
 * Likewise; what is not found there may be in the writer's memory: a block that fork choice has not chosen, which the same handler finds there,
 * or a transaction of the pool, which `inWriter` finds.
 */
interface InReaderFirst<Args> {
  readonly runs: "reader-first";
  readonly handler: Handler<Args>;
  readonly inWriter?: WriterHandler<Args>;
}

/** In the process that keeps the filter, whose number is in the filter's id: the first parameter. */
interface InFilterOwner<Args> {
  readonly runs: "filter-owner";
  readonly handler: Handler<Args>;
}

/** In the process that owns the chain. */
interface InWriter<Args> {
  readonly runs: "writer";
  readonly handler: WriterHandler<Args>;
}

type Placed<Args> = InReader<Args> | InReaderFirst<Args> | InFilterOwner<Args> | InWriter<Args>;

/** A method of the public namespaces: how its parameters are read, what it answers, and where it runs. */
export type ApiMethod = MethodDocumentation & { readonly params: Params } & Placed<readonly unknown[]>;

/** By full name: `eth_getBalance`. */
export type ApiMethods = Readonly<Record<string, ApiMethod>>;

export function method<const P extends Params>(
  declaration: MethodDocumentation & { readonly params: P } & Placed<ArgsOf<P>>,
): ApiMethod {
  return declaration as unknown as ApiMethod;
}

/** Nothing found: null, or no bytes where the answer is bytes. */
export const isMissing = (result: unknown): boolean => result === null || result === undefined || result === "0x";

/** The methods as the process that owns the chain serves them: all run here. */
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

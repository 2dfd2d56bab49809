import {
  type ArgsOf,
  CLIENT_GONE,
  type Method,
  type MethodDocumentation,
  type MethodTable,
  type Params,
  type RequestContext,
  RpcError,
  SERVER_ERROR,
} from "@rnode/jsonrpc";
import { RequestWork, type Work } from "../backend/work.ts";
import type { WriteServices } from "./services.ts";

/*
 * Where a method runs. One process owns the chain and the pool: the writer. Other processes, the readers, may read the same database
 * and serve users. A method that needs something only the writer has receives it as an argument, which only the writer can supply.
 */

type Handler<Args> = (args: Args, context: RequestContext) => unknown;
type CostlyHandler<Args> = (args: Args, work: Work, context: RequestContext) => unknown;
type WriterHandler<Args> = (args: Args, writer: WriteServices) => unknown;

/**
 * Why a method is costly: it executes calls (limited by `--rpc.evmtimeout` and `--rpc.gascap`), re-executes blocks
 * (`--rpc.tracetimeout`), or reads an amount that its parameters determine. Costly requests wait for each other, cheap ones do
 * not wait. A method is cheap only if every request takes less than about a millisecond, whatever its parameters are.
 */
export type CostlyKind = "call" | "trace" | "search";

/** Runs in the process that received the request, from the database alone. */
interface CheapInReader<Args> {
  readonly runs: "reader";
  readonly cost: "cheap";
  readonly handler: Handler<Args>;
}

/** The same for a costly method, which calls `check` of its work repeatedly. A request may start and end several times. */
interface CostlyInReader<Args> {
  readonly runs: "reader";
  readonly cost: CostlyKind;
  readonly handler: CostlyHandler<Args>;
}

/**
 * Runs first in the process that received the request. What that process does not find may be in the writer's memory: a block
 * that is not canonical yet, which the same handler finds there, or a transaction in the pool, which `inWriter` finds.
 */
interface InReaderFirst<Args> {
  readonly runs: "reader-first";
  readonly handler: Handler<Args>;
  readonly inWriter?: WriterHandler<Args>;
}

/** Runs in the process that keeps the filter. The first parameter is the filter's id, which contains the number of that process. */
interface InFilterOwner<Args> {
  readonly runs: "filter-owner";
  /** the answer for an id that no process has given out; default: the profile's error */
  readonly ifUnknown?: unknown;
  readonly handler: Handler<Args>;
}

/** Runs in the process that owns the chain. */
interface InWriter<Args> {
  readonly runs: "writer";
  readonly handler: WriterHandler<Args>;
}

type Placed<Args> = CheapInReader<Args> | CostlyInReader<Args> | InReaderFirst<Args> | InFilterOwner<Args> | InWriter<Args>;

/** A method of the public namespaces: its parameters, its result, and the process in which it runs. */
export type ApiMethod = MethodDocumentation & { readonly params: Params } & Placed<readonly unknown[]>;

/** A method of which a request can take long. */
export type CostlyMethod = ApiMethod & CostlyInReader<readonly unknown[]>;

/** keyed by full name, such as `eth_getBalance` */
export type ApiMethods = Readonly<Record<string, ApiMethod>>;

export function method<const P extends Params>(
  declaration: MethodDocumentation & { readonly params: P } & Placed<ArgsOf<P>>,
): ApiMethod {
  return declaration as unknown as ApiMethod;
}

export const isCostly = (own: ApiMethod): own is CostlyMethod => own.runs === "reader" && own.cost !== "cheap";

/** The costly ones of the methods, for a thread or process that serves nothing else. @param workOf the permission of a request */
export function costlyMethods(methods: ApiMethods, workOf: (context: RequestContext) => Work): MethodTable {
  return Object.fromEntries(
    Object.entries(methods).flatMap(([name, own]) => (isCostly(own) ? [[name, runCostly(own, workOf)] as const] : [])),
  );
}

const runCostly = (own: CostlyMethod, workOf: (context: RequestContext) => Work): Method => ({
  ...own,
  handler: (args, context) => own.handler(args, workOf(context), context),
});

/** Work that continues until the client disconnects or the gas limit is exceeded. */
const workForClient =
  (maxGas: bigint | undefined) =>
  (context: RequestContext): Work =>
    new RequestWork(() => {
      if (context.isGone) throw new RpcError(SERVER_ERROR, CLIENT_GONE);
    }, maxGas);

/** Whether nothing was found: null, or empty bytes where the answer is bytes. */
export const isMissing = (result: unknown): boolean => result === null || result === undefined || result === "0x";

/**
 * The methods as served by the process that owns the chain; there, all of them run in that process. @param maxGas of a request;
 * undefined: no limit
 */
export function methodsInWriter(methods: ApiMethods, writer: WriteServices, maxGas?: bigint): MethodTable {
  const workOf = workForClient(maxGas);
  return Object.fromEntries(Object.entries(methods).map(([name, own]) => [name, methodInWriter(own, writer, workOf)]));
}

function methodInWriter(own: ApiMethod, writer: WriteServices, workOf: (context: RequestContext) => Work): Method {
  switch (own.runs) {
    case "reader":
      return isCostly(own) ? runCostly(own, workOf) : own;
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

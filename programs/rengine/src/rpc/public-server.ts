import { type ApiMethods, ethSubscriptions, methodsOf, type PendingFeed, type ReadServices, withDescription } from "@rnode/eth-api";
import {
  createRpcServer,
  type MethodTable,
  type Pages,
  type Probe,
  type ReadLarge,
  type RpcDialect,
  type RpcServer,
  type RpcServerLimits,
  type ServedHead,
  type SubscriptionTable,
} from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import type { ClientOptions } from "../options.ts";

export interface PublicServerDependencies {
  readonly services: ReadServices;
  readonly pending: PendingFeed;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** file descriptors that its connections may take */
  readonly maxOpenFiles: number | undefined;
  /** sockets that are already bound */
  readonly fds?: { readonly http: number | undefined; readonly ws: number | undefined } | undefined;
  /** Makes each method run in the process where it belongs, seen from this process. */
  readonly bind: (methods: ApiMethods) => MethodTable;
  /** reads large requests in another thread; default: they are read here */
  readonly readLarge?: ReadLarge | undefined;
  /** besides those of the options */
  readonly limits?: Partial<RpcServerLimits> | undefined;
  /** default: answers may be about any block */
  readonly head?: ServedHead | undefined;
  /** answers `GET /readyz` */
  readonly readyz?: Probe | undefined;
  /** answers GET requests for other paths */
  readonly pages?: Pages | undefined;
}

/** The method tables of the listeners of `--http` and `--ws`. */
export interface PublicTables {
  readonly http: MethodTable;
  readonly ws: MethodTable;
  readonly subscriptions: SubscriptionTable;
}

export function publicTables(
  { http, ws }: ClientOptions,
  { services, pending, bind }: Pick<PublicServerDependencies, "services" | "pending" | "bind">,
): PublicTables {
  const subscriptions = ws.api.includes("eth") ? ethSubscriptions(services.backend, pending, services.sync) : {};
  return {
    http: http.enabled ? withDescription(services.version, bind(methodsOf(http.api, services))) : {},
    ws: ws.enabled ? withDescription(services.version, bind(methodsOf(ws.api, services)), subscriptions) : {},
    subscriptions,
  };
}

/** The listeners of `--http` and `--ws`. */
export const createPublicServer = (options: ClientOptions, dependencies: PublicServerDependencies): RpcServer =>
  createServerOf(
    options,
    { ...dependencies, dialect: dependencies.services.backend.profile.dialect },
    publicTables(options, dependencies),
  );

/** The same listeners with tables that are there already. */
export function createServerOf(
  { http, ws, limits }: ClientOptions,
  dependencies: Omit<PublicServerDependencies, "services" | "pending" | "bind"> & { readonly dialect: RpcDialect },
  tables: PublicTables,
): RpcServer {
  const { log, metrics, maxOpenFiles, fds, readLarge, head, readyz, pages, dialect } = dependencies;
  const allLimits = { ...limits, ...dependencies.limits };
  return createRpcServer({
    ...(http.enabled && { http: { ...http, methods: tables.http, fd: fds?.http } }),
    ...(ws.enabled && {
      ws: { ...ws, vhosts: http.vhosts, methods: tables.ws, subscriptions: tables.subscriptions, fd: fds?.ws },
    }),
    methods: {},
    dialect,
    limits: allLimits,
    maxOpenFiles,
    log,
    metrics,
    readLarge,
    head,
    readyz,
    pages,
  });
}

import { type ApiMethods, ethSubscriptions, methodsOf, type PendingFeed, type ReadServices, withDescription } from "@rnode/eth-api";
import {
  createRpcServer,
  type MethodTable,
  type Pages,
  type ReadLarge,
  type RpcServer,
  type RpcServerLimits,
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
  /** answers GET requests for other paths */
  readonly pages?: Pages | undefined;
}

/** The listeners of `--http` and `--ws`. */
export function createPublicServer({ http, ws, limits }: ClientOptions, dependencies: PublicServerDependencies): RpcServer {
  const { services, pending, log, metrics, maxOpenFiles, fds, bind, readLarge, pages } = dependencies;
  const allLimits = { ...limits, ...dependencies.limits };
  const subscriptions = ws.api.includes("eth") ? ethSubscriptions(services.backend, pending, services.sync) : {};
  return createRpcServer({
    ...(http.enabled && {
      http: {
        ...http,
        methods: withDescription(services.version, bind(methodsOf(http.api, services))),
        fd: fds?.http,
      },
    }),
    ...(ws.enabled && {
      ws: {
        ...ws,
        vhosts: http.vhosts,
        methods: withDescription(services.version, bind(methodsOf(ws.api, services)), subscriptions),
        subscriptions,
        fd: fds?.ws,
      },
    }),
    methods: {},
    dialect: services.backend.profile.dialect,
    limits: allLimits,
    maxOpenFiles,
    log,
    metrics,
    readLarge,
    pages,
  });
}

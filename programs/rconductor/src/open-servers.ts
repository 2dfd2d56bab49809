import {
  createRpcClient,
  createRpcServer,
  healthMethods,
  type MethodTable,
  type RestrictedMethods,
  type RpcClient,
  type SubscriptionTable,
  withModules,
} from "@rnode/jsonrpc";
import type { LogFields, Logger, MetricFactory } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { connectionBudget, type Health, namingPorts, type Readiness, type Scope } from "@rnode/program";
import type { ClusterView } from "./cluster/cluster-view.ts";
import type { RconductorOptions } from "./options.ts";
import { LeaderProxy } from "./rpc/leader-proxy.ts";
import { LeaderSubscriptions } from "./rpc/leader-subscriptions.ts";
import { VERSION } from "./version.ts";

export interface ServerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz` */
  readonly readiness?: Pick<Readiness, "healthWithin"> | undefined;
}

export interface RunningConductor {
  readonly rpcPort: number;
  /** undefined: no proxy */
  readonly proxyPort: number | undefined;
  /** Resolves once it takes part in the cluster. @throws {RollupClientError, ConductorError} it never can */
  readonly ready: Promise<void>;
  readonly status: () => LogFields;
}

type InScope = ServerDeps & { readonly scope: Scope };

/** A block with its transactions in hex. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;
const MAX_VALUES = 1_000_000;
/** Requests of users that are under way to one server at once. */
const PROXY_CONCURRENCY = 128;

/** @throws {UserError} the port is taken */
export function openServer(
  option: string,
  http: RconductorOptions["rpc"] | RconductorOptions["proxy"],
  methods: MethodTable,
  { scope, log, metrics, health, readiness }: InScope,
  { subscriptions, restricted }: { subscriptions?: SubscriptionTable; restricted?: RestrictedMethods } = {},
) {
  const isOwn = option === "rpc.port";
  const server = createRpcServer({
    http,
    restricted,
    // on the same port
    ws: subscriptions && { ...http, origins: http.cors, subscriptions },
    limits: isOwn ? { maxRequestBytes: MAX_REQUEST_BYTES, maxValues: MAX_VALUES } : {},
    maxOpenFiles: connectionBudget(),
    methods: isOwn ? withModules({ ...healthMethods(VERSION), ...methods }) : methods,
    log,
    metrics: isOwn ? metrics : undefined,
    healthz: health,
    readyz: readiness && ((query) => readiness.healthWithin(query)),
  });
  return scope.use(
    isOwn ? "RPC server" : "proxy",
    () => namingPorts({ [option]: http.port }, () => server.listen()),
    () => server.close(),
  );
}

/** @returns its port. @throws {UserError} the port is taken */
export async function openProxy(options: RconductorOptions, view: () => ClusterView | undefined, deps: InScope): Promise<number> {
  const createClient = (url: string): RpcClient =>
    createRpcClient({ url, timeoutMs: 10 * options.server.networkTimeoutMs, maxConcurrency: PROXY_CONCURRENCY });
  const leader = () => {
    const { leader, members = [] } = view() ?? {};
    return leader && members.find(({ id }) => id === leader.id);
  };
  const proxy = new LeaderProxy(options.proxy, { leader, createClient, clock: deps.clock, monotonicMs: () => performance.now() });
  deps.scope.onClose("proxy's endpoints", () => proxy.close());
  const subscriptions = new LeaderSubscriptions(options.proxy, {
    leader,
    createClient: (url) => createRpcClient({ url, maxConcurrency: PROXY_CONCURRENCY }),
    clock: deps.clock,
    monotonicMs: () => performance.now(),
  });
  deps.scope.onClose("proxy's subscriptions", () => subscriptions.close());
  const { httpPort } = await openServer("proxy.port", options.proxy, proxy.methods, deps, { subscriptions: subscriptions.table });
  deps.log.info("proxy listens", { addr: options.proxy.host, port: httpPort });
  return httpPort ?? options.proxy.port;
}

import { errorText, type LogFields } from "@rnode/observe";
import type { Scope } from "@rnode/program";
import { type ClusterView, readCluster } from "./cluster/cluster-view.ts";
import { ClusterKeys } from "./cluster/keys.ts";
import { EtcdGateway } from "./etcd/gateway-client.ts";
import { openProxy, openServer, type RunningConductor, type ServerDeps } from "./open-servers.ts";
import type { RconductorOptions } from "./options.ts";
import { viewMethods } from "./rpc/conductor-methods.ts";
import { VERSION } from "./version.ts";

/**
 * A conductor without a sequencer: it looks at the cluster, says who leads, and passes requests on to the leader.
 *
 * @throws {UserError} a port is taken
 */
export async function startObserver(scope: Scope, options: RconductorOptions, deps: ServerDeps): Promise<RunningConductor> {
  const { clock, log } = deps;
  const etcd = new EtcdGateway(options.etcd);
  etcd.followFiles(deps);
  scope.onClose("etcd", () => etcd.close());
  const keys = new ClusterKeys(options.etcd.prefix);
  let view: ClusterView | undefined;
  let trouble: string | undefined;
  const watch = async (): Promise<void> => {
    while (!scope.signal.aborted) {
      try {
        view = await readCluster(etcd, keys);
        if (trouble !== undefined) log.info("etcd answers again");
        trouble = undefined;
      } catch (error) {
        const text = errorText(error);
        if (trouble === undefined) log.warn("the cluster cannot be seen", { error: text });
        trouble = text;
      }
      await clock.sleep(options.etcd.pollIntervalMs, scope.signal);
    }
  };
  const watching = watch();
  scope.onClose("cluster", () => watching);
  const { httpPort } = await openServer(
    "rpc.port",
    options.rpc,
    viewMethods(() => view),
    { ...deps, scope },
  );
  const proxyPort = options.proxy.enabled ? await openProxy(options, () => view, { ...deps, scope }) : undefined;
  log.info("rconductor observes", { version: VERSION, prefix: options.etcd.prefix });
  const status = (): LogFields => ({
    leader: view?.leader?.id ?? "nobody",
    committedBlock: view?.head?.number,
    members: view?.members.map(({ id }) => id).join(", "),
    ...(trouble === undefined ? {} : { trouble }),
  });
  return { rpcPort: httpPort ?? options.rpc.port, proxyPort, ready: Promise.resolve(), status };
}

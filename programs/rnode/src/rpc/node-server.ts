import { createRpcServer, type MethodTable, type RpcServer, withModules } from "@rnode/jsonrpc";
import type { Logger, MetricFactory } from "@rnode/observe";
import { connectionBudget, type Health } from "@rnode/program";
import { opstackMethods } from "../opstack/opstack-methods.ts";
import type { TestSequencer } from "../opstack/test-sequencer.ts";
import type { RnodeOptions } from "../options.ts";
import { p2pMethods } from "../p2p/p2p-methods.ts";
import { adminMethods, type NodeAdminApi, type NodeApi, rollupMethods } from "./rpc-methods.ts";
import { type SuperrootApi, superrootMethods } from "./superroot-methods.ts";

/** as op-node. Spec: docs/protocol/04-rpc.md#rollup-node-server-transport */
export const MAX_REQUEST_BYTES = 5 * 1024 * 1024;

export interface NodeServerDeps {
  readonly node: NodeApi & SuperrootApi;
  /** undefined: P2P is off */
  readonly peers: Parameters<typeof p2pMethods>[0] | undefined;
  readonly admin: NodeAdminApi;
  readonly testSequencer: TestSequencer;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** for `GET /healthz` and `GET /readyz` */
  readonly healthz: () => Health;
  readonly readyz: (query: URLSearchParams) => Health;
}

/** The node's methods in the namespaces that the options ask for. */
export const nodeMethods = (
  options: RnodeOptions["rpc"],
  { node, peers, admin, testSequencer }: Pick<NodeServerDeps, "node" | "peers" | "admin" | "testSequencer">,
): MethodTable =>
  withModules({
    ...rollupMethods(options, node),
    ...superrootMethods(options, node),
    ...(peers && p2pMethods(peers)),
    ...(options.enableAdmin && adminMethods(admin)),
    ...(options.experimentalSequencerApi && opstackMethods(testSequencer)),
  });

/** The node's JSON-RPC server. It does not listen yet. */
export function createNodeServer(options: RnodeOptions["rpc"], deps: NodeServerDeps): RpcServer {
  const { log, metrics, healthz, readyz } = deps;
  return createRpcServer({
    http: options,
    limits: { maxRequestBytes: MAX_REQUEST_BYTES },
    maxOpenFiles: connectionBudget(),
    methods: nodeMethods(options, deps),
    log,
    metrics,
    healthz,
    readyz,
  });
}

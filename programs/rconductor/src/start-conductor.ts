import { hostname } from "node:os";
import { createRpcClient, type MethodTable, type RpcClient } from "@rnode/jsonrpc";
import { RpcRollupNode, untilAnswered } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import type { Scope } from "@rnode/program";
import type { RollupConfig } from "@rnode/protocol";
import { CommitStore, DEFAULT_COMMIT_OPTIONS } from "./cluster/commit-store.ts";
import { ClusterKeys } from "./cluster/keys.ts";
import { assertPayloadHash } from "./cluster/payload-check.ts";
import { type ChainRecord, readChain, recordToBytes } from "./cluster/records.ts";
import { Conductor } from "./conductor.ts";
import { ConductorError } from "./conductor-error.ts";
import { createConductorMetrics } from "./conductor-metrics.ts";
import type { Etcd } from "./etcd/etcd-api.ts";
import { EtcdError } from "./etcd/etcd-error.ts";
import { EtcdGateway } from "./etcd/gateway-client.ts";
import { openProxy, openServer, type RunningConductor, type ServerDeps } from "./open-servers.ts";
import type { RconductorOptions } from "./options.ts";
import { conductorMethods } from "./rpc/conductor-methods.ts";
import { ownProxyMethods } from "./rpc/leader-proxy.ts";
import { restrictedMethods } from "./rpc/restricted.ts";
import { RpcSequencer } from "./sequencer/rpc-sequencer.ts";
import { startObserver } from "./start-observer.ts";
import { VERSION } from "./version.ts";

/**
 * Wires everything. The server listens at once; endpoints that do not answer yet are waited for.
 *
 * @throws {UserError} a port is taken
 */
export async function startConductor(scope: Scope, options: RconductorOptions, deps: ServerDeps): Promise<RunningConductor> {
  if (options.server.observer) return startObserver(scope, options, deps);
  const { log, clock } = deps;
  const metrics = createConductorMetrics(deps.metrics);
  const { networkTimeoutMs } = options.server;
  const serverId = options.server.serverId ?? hostname().replace(/[^\w.-]/g, "-");
  const node = createRpcClient({ url: options.server.rollupRpc, timeoutMs: networkTimeoutMs });
  const engine = createRpcClient({ url: options.server.executionRpc, timeoutMs: networkTimeoutMs });
  const { executionP2pEnabled, executionP2pRpcUrl, executionP2pCheckApi } = options.health;
  const peersRpc =
    executionP2pRpcUrl === undefined ? engine : createRpcClient({ url: executionP2pRpcUrl, timeoutMs: networkTimeoutMs });
  const etcd = new EtcdGateway(options.etcd, {
    onRequest: (_, outcome, ms) => {
      metrics.etcdRequests.inc({ outcome });
      metrics.etcdSeconds.observe(ms / 1000);
    },
  });
  etcd.followFiles(deps);
  scope.onClose("endpoints", () => Promise.all([node.close(), engine.close(), peersRpc.close(), etcd.close()]));
  const keys = new ClusterKeys(options.etcd.prefix);
  const store = new CommitStore(DEFAULT_COMMIT_OPTIONS, { etcd, keys, id: serverId });
  let conductor: Conductor | undefined;
  let waitingFor = "";
  let ready: Promise<void> | undefined;
  scope.onClose("conductor", async () => {
    await ready?.catch(() => {}); // reported by `ready`
    await conductor?.close();
  });
  const isLeader = (): boolean => conductor !== undefined && (conductor.isOverridden || conductor.isLeader);
  const methods: MethodTable = {
    ...conductorMethods({ conductor: () => conductor, store }),
    ...(options.rpc.enableProxy ? ownProxyMethods({ node, engine, isLeader }) : {}),
  };
  const restricted = restrictedMethods(options.rpc, Object.keys(methods), clock);
  const { httpPort } = await openServer("rpc.port", options.rpc, methods, { ...deps, scope }, { restricted });
  const rpcPort = httpPort ?? options.rpc.port;
  const proxyPort = options.proxy.enabled ? await openProxy(options, () => conductor?.view, { ...deps, scope }) : undefined;
  const connect = async (): Promise<void> => {
    const rollup = await findChain(options, {
      node,
      etcd,
      keys,
      clock,
      log,
      signal: scope.signal,
      onWait: (what) => (waitingFor = what),
    });
    if (rollup === undefined) return;
    const { addr, executionRpc, executionWs, rollupRpc } = options.advertise;
    conductor = new Conductor(
      {
        session: { id: serverId, ...options.etcd },
        health: options.health,
        blockTimeSec: rollup.blockTimeSec,
        mayBootstrap: options.server.bootstrap,
        isPaused: options.server.paused,
        l1ReorgWaitMs: options.server.l1ReorgWaitMs,
        addresses: {
          addr: addr ?? `http://${hostname()}:${rpcPort}`,
          executionRpc: executionRpc ?? options.server.executionRpc,
          executionWs: executionWs ?? options.server.executionWs,
          rollupRpc: rollupRpc ?? options.server.rollupRpc,
        },
      },
      {
        etcd,
        keys,
        store,
        checkPayload: (envelope) => assertPayloadHash(rollup.forkTimes, envelope),
        node: new RpcSequencer(
          {
            countsPeers: options.health.minPeerCount > 0,
            executionPeers: executionP2pEnabled ? { rpc: peersRpc, api: executionP2pCheckApi } : undefined,
          },
          { node, engine, config: rollup },
        ),
        clock,
        monotonicMs: () => performance.now(),
        log,
        metrics,
      },
    );
    conductor.start();
    log.info("rconductor is ready", { version: VERSION, id: serverId, l2ChainId: rollup.l2ChainId, prefix: options.etcd.prefix });
  };
  ready = connect();
  return { rpcPort, proxyPort, ready, status: () => conductor?.status() ?? { waitingFor } };
}

interface FindChainDeps {
  readonly node: RpcClient;
  readonly etcd: Etcd;
  readonly keys: ClusterKeys;
  readonly clock: Clock;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly onWait: (what: string) => void;
}

/** The node's chain, for which etcd's prefix is kept from now on. @returns undefined if it was closed while it waited */
async function findChain(options: RconductorOptions, deps: FindChainDeps): Promise<RollupConfig | undefined> {
  const { node, etcd, keys, log } = deps;
  const endpoint = { option: "--rollup-rpc", what: "rollup node", address: node.endpoint };
  const rollup = await untilAnswered(() => new RpcRollupNode(node).rollupConfig(), endpoint, deps);
  if (rollup === undefined) return undefined;
  const sequencer = new RpcSequencer({ countsPeers: false }, { node, engine: node, config: rollup });
  const asks = await untilAnswered(() => sequencer.asksConductor(), endpoint, deps);
  if (asks === undefined) return undefined;
  if (!asks) throw new ConductorError("conductor/node-without-conductor", { option: "--rollup-rpc", endpoint: node.endpoint });
  const chain: ChainRecord = { l2ChainId: String(rollup.l2ChainId), genesis: rollup.genesis.l2.hash };
  const etcdEndpoint = {
    option: "--etcd",
    what: "etcd",
    address: options.etcd.endpoints.map((url) => new URL(url).host).join(","),
  };
  const isFinal = (error: unknown): boolean =>
    error instanceof ConductorError ||
    (error instanceof EtcdError && (error.code === "etcd/denied" || error.code === "etcd/bad-answer"));
  const claimed = await untilAnswered(
    async () => {
      await claimPrefix(etcd, keys, options.etcd.prefix, chain);
      return true;
    },
    etcdEndpoint,
    deps,
    isFinal,
  );
  if (claimed === undefined) return undefined;
  log.debug("etcd's prefix is this chain's", { prefix: options.etcd.prefix });
  return rollup;
}

/** @throws {ConductorError} conductor/wrong-chain */
async function claimPrefix(etcd: Etcd, keys: ClusterKeys, prefix: string, chain: ChainRecord): Promise<void> {
  const { succeeded, ranges } = await etcd.txn(
    [{ key: keys.chain, target: "create", revision: 0 }],
    [{ kind: "put", key: keys.chain, value: recordToBytes(chain) }],
    [{ kind: "range", key: keys.chain }],
  );
  const pair = ranges[0]?.[0];
  if (succeeded || pair === undefined) return;
  const theirs = readChain(pair);
  if (theirs.l2ChainId === chain.l2ChainId && theirs.genesis === chain.genesis) return;
  const name = ({ l2ChainId, genesis }: ChainRecord): string => `${l2ChainId} (genesis ${genesis})`;
  throw new ConductorError("conductor/wrong-chain", { prefix, theirs: name(theirs), ours: name(chain) });
}

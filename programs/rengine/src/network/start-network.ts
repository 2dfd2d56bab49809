import { join } from "node:path";
import type { Chain } from "@rnode/chain";
import {
  type DevP2PConfig,
  type DevP2PNetwork,
  defaultBootnodes,
  type NatSetting,
  type OpenNetworkDeps,
  openNetwork,
  unjoinedIdentity,
} from "@rnode/devp2p";
import type { NodeOnNetwork } from "@rnode/eth-api";
import type { Logger } from "@rnode/observe";
import { type Clock, isCodedError } from "@rnode/primitives";
import { type ProgramMetrics, type Scope, UserError } from "@rnode/program";
import { networkByName, networkGenesisHash } from "@rnode/protocol";
import type { ClientOptions } from "../options.ts";
import type { PoolService } from "../pool/pool-service.ts";
import { databasePath } from "../setup/database.ts";
import { nodeKeyAt } from "./node-key.ts";
import { SharedPool } from "./shared-pool.ts";

const METRICS_PREFIX = "rengine_";

export interface NetworkDependencies {
  readonly chain: Chain;
  readonly pool: PoolService;
  /** the client name in the devp2p Hello message */
  readonly clientId: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ProgramMetrics;
}

/** Boot nodes of the L1 of a named network; none for a genesis file. @param chain as `--chain` gives it */
export function bootnodesOf(chain: string): readonly string[] {
  const network = networkByName(chain);
  return network === undefined ? [] : defaultBootnodes(BigInt(network.l1ChainId), "execution");
}

/**
 * Joins the network of execution clients. It is left when the scope closes.
 *
 * @throws {UserError}
 */
export async function startNetwork(
  scope: Scope,
  options: ClientOptions,
  { chain, pool, clientId, clock, log, metrics }: NetworkDependencies,
): Promise<DevP2PNetwork> {
  const { network: wanted, rollup, chain: chainOptions } = options;
  const bootnodes = wanted.bootnodes.length > 0 ? wanted.bootnodes : bootnodesOf(chainOptions.chain);
  const config: DevP2PConfig = {
    ...identityOf(options, { chain, clientId, log }),
    networkId: Number(chain.config.chainId),
    nat: natOf(wanted.nat),
    maxPeers: wanted.maxPeers,
    discovery: { enabled: !wanted.disableDiscovery, bootnodes },
    trustedPeers: wanted.trustedPeers,
    databaseFolder: databasePath(chainOptions.datadir),
    folder: join(chainOptions.datadir, "peers"),
    gossipsTransactions: !rollup.disableTxPoolGossip,
  };
  const shared = new SharedPool(pool);
  scope.onClose("shared pool", () => shared.close());
  const network = await scope.use(
    "network of execution clients",
    () => {
      const include: ProgramMetrics["include"] = (collect) => metrics.include(collect);
      const threadMetrics = options.metrics.enabled ? { prefix: METRICS_PREFIX, include } : undefined;
      return open(config, shared, { clock, log, metrics, threadMetrics });
    },
    (running) => running.close(),
  );
  if (config.gossipsTransactions) shared.share(network);
  const { enode, tcpPort, udpPort } = network.identity;
  const { maxPeers, disableDiscovery, trustedPeers } = wanted;
  log.info("network of execution clients joined", {
    enode,
    port: tcpPort,
    discovery: udpPort,
    maxPeers,
    ...(disableDiscovery ? {} : { bootnodes: bootnodes.length }),
  });
  if (!disableDiscovery && bootnodes.length + trustedPeers.length === 0) {
    log.info(
      "no boot nodes are known for this chain: unless there are peers of earlier runs, others have to connect, or be named by --bootnodes or --trusted-peers",
    );
  }
  return network;
}

/** The node info of a client with --max-peers=0, created on request. */
export async function unjoinedNode(
  options: ClientOptions,
  deps: Pick<NetworkDependencies, "chain" | "clientId" | "clock" | "log">,
): Promise<NodeOnNetwork> {
  const { header } = deps.chain.headerOf({ kind: "tag", tag: "latest" })!;
  return unjoinedIdentity(identityOf(options, deps), header, BigInt(deps.clock.unixMs()));
}

function identityOf(
  { network, chain: { datadir } }: ClientOptions,
  { chain, clientId, log }: Pick<NetworkDependencies, "chain" | "clientId" | "log">,
) {
  const { genesis, config } = chain;
  return {
    chain: config,
    genesisHash: networkGenesisHash(config, genesis.hash),
    genesisTimeSec: genesis.block.header.timestamp,
    nodeKey: nodeKeyAt(network.nodekey ?? join(datadir, "nodekey"), (path) => log.info("node key created", { path })),
    clientId,
    listen: { ip: network.addr, tcpPort: network.port, udpPort: network.discoveryPort ?? network.port },
  };
}

async function open(config: DevP2PConfig, shared: SharedPool, deps: OpenNetworkDeps): Promise<DevP2PNetwork> {
  try {
    return await openNetwork(config, shared, deps);
  } catch (error) {
    if (isCodedError(error, "devp2p/")) throw new UserError(error.message, { cause: error });
    throw error;
  }
}

function natOf(text: string): NatSetting {
  if (text.startsWith("extip:")) return { kind: "ip", ip: text.slice("extip:".length) };
  return { kind: text === "none" ? "none" : "upnp" };
}

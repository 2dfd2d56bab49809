import "../with-resolvers.ts";
import { privateKeyFromRaw } from "@libp2p/crypto/keys";
import type { GossipSub } from "@libp2p/gossipsub";
import { peerIdFromPrivateKey, peerIdFromString } from "@libp2p/peer-id";
import { type Multiaddr, multiaddr } from "@multiformats/multiaddr";
import type { Logger, MetricFactory } from "@rnode/observe";
import { findRouters, type Mapping, PortMapper } from "@rnode/peering";
import { bytesToHex, type Clock, isCodedError } from "@rnode/primitives";
import { Discovery } from "../discovery/discovery.ts";
import { parseNetworks } from "../discovery/ip-networks.ts";
import type { RecordedPeer } from "../discovery/node-record.ts";
import { createGossip } from "../gossip/block-gossip.ts";
import { ipOf, tcpAddress, tcpPortOf } from "../multiaddresses.ts";
import type { P2PConfig, P2PHandlers, P2PIdentity, P2PNetwork } from "../network.ts";
import { createP2PMetrics } from "../p2p-metrics.ts";
import type { PartDeps, PayloadSink } from "../parts.ts";
import { openPeers } from "../peers/open-peers.ts";
import { P2PSettingError } from "../settings-error.ts";
import { createSync } from "../sync/create-sync.ts";
import { createHost, type Host } from "./create-host.ts";
import { Latencies } from "./latencies.ts";
import { PeerFinder } from "./peer-finder.ts";
import { acceptsConnections, reachabilityWarning } from "./reachability.ts";
import { resolveAdvertisedIp } from "./resolve-ip.ts";
import { parseStaticPeers, StaticDialer } from "./static-peers.ts";

export interface NetworkDeps {
  readonly clock: Clock;
  /** 0 ≤ x < 1 */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

type MeshHost = Host<{ pubsub: GossipSub }>;

/**
 * Starts the network in this thread, and connects its parts. If a part fails, the started parts are closed.
 *
 * @throws {P2PSettingError}
 */
export async function startNetwork(config: P2PConfig, handlers: P2PHandlers, deps: NetworkDeps): Promise<P2PNetwork> {
  const closers: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (let closer = closers.pop(); closer !== undefined; closer = closers.pop()) await closer();
  };
  try {
    return await start(config, handlers, deps, closers, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  config: P2PConfig,
  handlers: P2PHandlers,
  { clock, random, log, metrics }: NetworkDeps,
  closers: (() => unknown)[],
  close: () => Promise<void>,
): Promise<P2PNetwork> {
  const { rollup, networkKey, listen, advertise } = config;
  const selfId = peerIdFromPrivateKey(privateKeyFromRaw(networkKey)).toString();
  const staticPeers = parseStaticPeers(config.staticPeers, selfId);
  parseNetworks(config.netrestrict); // an invalid entry stops the start in any case
  const advertisedIp = advertise.ip === undefined ? undefined : await resolveAdvertisedIp(advertise.ip);
  const part: PartDeps = { clock, log, metrics: createP2PMetrics(metrics) };
  const sink: PayloadSink = { accept: (envelope, from) => handlers.onUnsafePayload(envelope, from) };

  const peers = await openPeers({ ...config, staticPeers }, part).catch((error: unknown) => {
    throw asPeerStoreError(error, config.peers.path);
  });
  closers.push(() => peers.close());
  const gossip = createGossip(
    { rollup, timestampThresholdMs: config.gossip.timestampThresholdMs, scoring: peers.gossipScoring },
    { ...part, sink },
  );
  let boundPort: number | undefined;
  let mapped: Mapping | undefined;
  const announced = (listening: readonly Multiaddr[]): readonly Multiaddr[] => {
    boundPort = portOf(listening) ?? boundPort;
    if (advertisedIp === undefined && mapped !== undefined) return [multiaddr(tcpAddress(mapped.ip, mapped.tcpPort))];
    if (advertisedIp === undefined) return withoutLoopback(listening);
    return [multiaddr(tcpAddress(advertisedIp, advertise.tcpPort ?? boundPort ?? listen.tcpPort))];
  };
  const host: MeshHost = await createHost<{ pubsub: GossipSub }>({
    networkKey,
    listen,
    announce: announced,
    userAgent: config.userAgent,
    limits: config.limits,
    clock,
    gater: peers.gater,
    datastore: peers.datastore,
    services: { pubsub: gossip.service },
  });
  const sync = createSync(config, {
    ...part,
    node: host,
    sink,
    scores: peers,
    staticPeers,
    payloadByNumber: (number) => handlers.payloadByNumber(number),
  });
  closers.push(() => host.stop());
  await startListening(host, listen);
  host.getMultiaddrs(); // reads the listening addresses
  const tcpPort = boundPort ?? listen.tcpPort;
  closers.push(() => gossip.close());
  gossip.start();
  closers.push(() => sync.close());
  await sync.start();

  const latencies = new Latencies({ node: host, ping: (peer, signal) => host.services.ping.ping(peer, { signal }), clock });
  closers.push(() => latencies.close());
  latencies.start();

  const finder = new PeerFinder({ node: host, goal: config.peers.low, clock, random, log });
  closers.push(() => finder.close());
  const onPeer = (peer: RecordedPeer): void => {
    if (peer.peerId === selfId) return;
    peers.onDiscovered(peer.peerId, { enr: peer.enr, chainId: Number(peer.chainId) });
    host.peerStore
      .merge(peerIdFromString(peer.peerId), { multiaddrs: [multiaddr(peer.address)] })
      .then(() => finder.wake())
      .catch((error: unknown) => log.debug("a peer that was found cannot be stored", { peer: peer.peerId, error }));
  };
  const listensOn = isAnyAddress(listen.ip) ? undefined : listen.ip;
  const discovery = config.discovery.enabled
    ? new Discovery(
        {
          networkKey,
          l1ChainId: rollup.l1ChainId,
          l2ChainId: rollup.l2ChainId,
          listen: { ip: listen.ip, udpPort: listen.udpPort === 0 ? tcpPort : listen.udpPort },
          advertise: {
            ip: advertisedIp ?? listensOn,
            tcpPort: advertise.tcpPort ?? tcpPort,
            udpPort: advertise.udpPort,
          },
          bootnodes: config.discovery.bootnodes,
          netrestrict: config.netrestrict,
          path: config.discovery.path,
        },
        { clock, log, metrics, onPeer, wantsPeers: () => finder.wantsPeers },
      )
    : undefined;
  if (discovery !== undefined) {
    closers.push(() => discovery.close());
    await discovery.start();
  }
  const api = peers.attach({
    node: host,
    pubsub: host.services.pubsub,
    latencyNs: (peer) => latencies.ofPeer(peer),
    discovery,
    equivocations: () => gossip.equivocations(),
  });
  finder.start();
  const statics = new StaticDialer([...staticPeers.values()], { node: host, clock, log });
  closers.push(() => statics.close());
  statics.start();

  if (config.nat) {
    const mapper = new PortMapper(
      { tcpPort, udpPort: discovery && (listen.udpPort || tcpPort) },
      {
        findRouters,
        onMapped: (mapping) => {
          mapped = mapping;
          discovery?.setAddress(mapping.ip, mapping.tcpPort, mapping.udpPort ?? mapping.tcpPort);
        },
        clock,
        log,
      },
    );
    closers.push(() => mapper.close());
    mapper.start();
  }

  const ip = advertisedIp ?? discovery?.advertisedIp ?? listensOn;
  let signer: string | undefined;
  void warnIfUnreachable(advertisedIp, advertise.tcpPort ?? tcpPort, log);
  return {
    get identity(): P2PIdentity {
      return {
        peerId: selfId,
        addresses: host.getMultiaddrs().map(String),
        enr: discovery?.enr,
        tcpPort,
        reachabilityWarning: reachabilityWarning({ ip, nat: config.nat }),
      };
    },
    api,
    setUnsafeBlockSigner(address) {
      const former = signer;
      signer = bytesToHex(address);
      gossip.setUnsafeBlockSigner(address);
      if (former !== undefined && former !== signer) peers.onSignerChanged();
    },
    publish: (envelope, signature) => gossip.publish(envelope, signature),
    requestGap: (gap) => sync.requestGap(gap),
    close,
  };
}

function asPeerStoreError(cause: unknown, path: string | undefined): unknown {
  if (path === undefined || !(cause instanceof Error)) return cause;
  const remedy = isCodedError(cause, "peer-store/in-use")
    ? "another node uses the folder: give each its own"
    : 'give a folder that can be written to, or the word "memory"';
  return new P2PSettingError("peerstore.path", `${path} cannot be opened (${deepestReason(cause)}): ${remedy}`, { cause });
}

function deepestReason(error: Error): string {
  let last = error;
  while (last.cause instanceof Error) last = last.cause;
  return last.message;
}

/** @throws {P2PSettingError} listen.tcp, listen.ip */
async function startListening(host: MeshHost, { ip, tcpPort }: P2PConfig["listen"]): Promise<void> {
  try {
    await host.start();
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    if (text.includes("EADDRINUSE"))
      throw new P2PSettingError("listen.tcp", `TCP port ${tcpPort} is taken: choose another, or stop what listens there`, {
        cause,
      });
    if (text.includes("EADDRNOTAVAIL")) throw new P2PSettingError("listen.ip", `${ip} is no address of this machine`, { cause });
    if (text.includes("EACCES"))
      throw new P2PSettingError("listen.tcp", `TCP port ${tcpPort} needs privileges: choose one above 1023`, { cause });
    throw cause;
  }
}

async function warnIfUnreachable(ip: string | undefined, port: number, log: Logger): Promise<void> {
  if (ip === undefined || (await acceptsConnections(ip, port))) return;
  log.warn("nothing accepts connections at the advertised address, seen from here: the router must pass the port on", { ip, port });
}

const isAnyAddress = (ip: string): boolean => ip === "0.0.0.0" || ip === "::";

const portOf = (addresses: readonly Multiaddr[]): number | undefined => addresses.map(tcpPortOf).find((port) => port !== undefined);

/** Other machines cannot use loopback addresses; but the node may have no others. */
function withoutLoopback(addresses: readonly Multiaddr[]): readonly Multiaddr[] {
  const others = addresses.filter((address) => !/^(?:127\.|::1$)/.test(ipOf(address) ?? ""));
  return others.length > 0 ? others : addresses;
}

import { join } from "node:path";
import type { SignableENR } from "@chainsafe/enr";
import type { Logger, MetricFactory } from "@rnode/observe";
import { findRouters } from "@rnode/peering";
import { bytesToHex, type Clock, equalBytes, isCodedError, keccak256 } from "@rnode/primitives";
import { makeFolder } from "@rnode/program";
import { ForkIds } from "@rnode/protocol";
import { type ChainDatabase, openChainStore } from "@rnode/storage";
import { createDevP2PMetrics } from "./devp2p-metrics.ts";
import type { Discovery } from "./discovery/discovery.ts";
import { enodeText, parseEnode } from "./enode.ts";
import { DevP2PError } from "./errors.ts";
import type { EthStatus, EthVersion } from "./eth/messages.ts";
import { ServedChain } from "./eth/served-chain.ts";
import { TransactionGossip } from "./eth/transaction-gossip.ts";
import type { DevP2PConfig, DevP2PHandlers, DevP2PIdentity, DevP2PNetwork } from "./network.ts";
import { OwnAddress } from "./own-address.ts";
import { type Ban, BanList } from "./peers/ban-list.ts";
import { KnownPeers, parseKnownPeer } from "./peers/known-peers.ts";
import { PeerFile } from "./peers/peer-file.ts";
import { PeerHost } from "./peers/peer-host.ts";
import { keyPairOf, publicKeyOf } from "./rlpx/ecies.ts";
import { ServedState } from "./snap/served-state.ts";
import { WorkShare } from "./snap/work-share.ts";

export interface NetworkDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
}

/** Fewer than the parallel requests of a walk, so it has room for the nodes that they return. */
const MAX_KNOWN_ASKED = 8;
/** Of one core, for states that peers ask for. */
const STATE_SHARE = 1 / 2;
const RANGE_INTERVAL_MS = 10_000;
/** Peers are notified of a new range after this number of blocks, or this time. */
const RANGE_BLOCKS = 32;
const RANGE_MS = 60_000;

/**
 * Starts the network in this thread.
 *
 * @throws {DevP2PError} devp2p/bad-setting, devp2p/bad-enode; {CodedError} storage/*
 */
export async function startNetwork(config: DevP2PConfig, handlers: DevP2PHandlers, deps: NetworkDeps): Promise<DevP2PNetwork> {
  const { clock, log } = deps;
  const metrics = createDevP2PMetrics(deps.metrics);
  const own = keyPairOf(config.nodeKey);
  const trusted = config.trustedPeers.map(parseEnode);
  if (config.folder !== undefined) makeFolder(config.folder);
  const fileOf = (name: string): string | undefined => config.folder && join(config.folder, name);
  const bans = new BanList(new PeerFile(fileOf("bans"), parseBan, log), clock.unixMs());
  // without discovery, only configured nodes are dialled
  const known = new KnownPeers(new PeerFile(config.discovery.enabled ? fileOf("known") : undefined, parseKnownPeer, log), clock);
  const store: ChainDatabase = openChainStore(config.databaseFolder, { readOnly: true });
  const chain = new ServedChain(store);
  const forkIds = new ForkIds(config.chain, config.genesisHash, config.genesisTimeSec);
  const closing = new AbortController();
  const publicKey = publicKeyOf(own);
  const address = new OwnAddress(config, {
    clock,
    log,
    findRouters,
    onMapped: ({ ip, tcpPort: tcp, udpPort: udp }) => discovery?.setAddress(ip, tcp, udp ?? discovery.udpPort),
  });

  const ownStatus = (version: EthVersion): EthStatus => {
    const head = chain.head();
    const range = { earliest: chain.earliestBlock, latest: head.number, latestHash: head.hash };
    return {
      version,
      networkId: BigInt(config.networkId),
      genesisHash: config.genesisHash,
      forkId: forkIds.at(head),
      latestHash: head.hash,
      range,
      totalDifficulty: head.totalDifficulty,
    };
  };
  const refusal = ({ networkId, genesisHash, forkId }: EthStatus): string | undefined => {
    if (networkId !== BigInt(config.networkId)) return `network ${networkId}, not ${config.networkId}`;
    if (!equalBytes(genesisHash, config.genesisHash)) return `genesis ${bytesToHex(genesisHash)}`;
    const verdict = forkIds.check(forkId, chain.head());
    return verdict === "compatible" ? undefined : `fork id ${bytesToHex(forkId.hash)}, next ${forkId.next}: ${verdict}`;
  };

  const gossip = new TransactionGossip(config.gossipsTransactions, {
    clock,
    signal: closing.signal,
    onTransactions: (transactions) => handlers.onTransactions(transactions),
    pooled: (hashes) => handlers.pooledTransactions(hashes),
    count: (outcome) => metrics.transactions.inc({ outcome }),
  });
  const listeners = new Set<() => void>();
  const onServed = (what: string, items: number, bytes: number): void => {
    metrics.served.add(items, { what });
    metrics.servedBytes.add(bytes);
  };
  const host = new PeerHost(
    {
      own,
      clientId: config.clientId,
      ip: config.listen.ip,
      tcpPort: config.listen.tcpPort,
      maxPeers: config.maxPeers,
    },
    {
      clock,
      log,
      metrics,
      bans,
      known,
      eth: {
        clock,
        chain,
        ownStatus,
        refusal,
        transactions: gossip,
        snap: { state: new ServedState(store, clock), share: new WorkShare(STATE_SHARE, clock), onServed },
        onServed,
      },
      onChange: () => {
        for (const listener of listeners) listener();
      },
      onJoin: (peer) => gossip.join(peer),
      onLeave: (peer) => gossip.leave(peer),
    },
  );
  for (const enode of trusted) host.addStatic(enode, true);

  let tcpPort: number;
  let discovery: Discovery | undefined;
  try {
    tcpPort = await host.listen();
    discovery = await startDiscovery();
  } catch (error) {
    await host.close();
    await store.close();
    throw error;
  }
  address.map(tcpPort, discovery?.udpPort);
  const telling = tellRanges();
  const unannounced = discovery === undefined ? await createUnannouncedRecord() : undefined;
  const identity = (): DevP2PIdentity => {
    const { mapping } = address;
    const ip = address.givenIp ?? mapping?.ip ?? discovery?.advertisedIp ?? config.listen.ip;
    const udpPort = discovery?.udpPort ?? 0;
    const id = bytesToHex(publicKey).slice(2);
    const reached = { tcpPort: mapping?.tcpPort ?? tcpPort, udpPort: mapping?.udpPort ?? udpPort };
    return {
      nodeId: bytesToHex(keccak256(publicKey)).slice(2),
      publicKey: id,
      enode: enodeText({ id, host: ip, ...reached }),
      enr: discovery?.enr ?? unannounced?.encodeTxt(),
      ip,
      clientId: config.clientId,
      tcpPort,
      udpPort,
    };
  };

  /** Without discovery, the record is only for the operator. */
  async function createUnannouncedRecord(): Promise<SignableENR> {
    const { createOwnRecord, setEndpoint } = await import("./discovery/node-record.ts");
    const record = createOwnRecord(config.nodeKey, forkIds.at(chain.head()), BigInt(clock.unixMs()));
    setEndpoint(record, address.givenIp ?? config.listen.ip, tcpPort, 0);
    return record;
  }

  /** @throws {DevP2PError} devp2p/bad-setting */
  async function startDiscovery(): Promise<Discovery | undefined> {
    if (!config.discovery.enabled) return undefined;
    const { Discovery: DiscoveryOfChain } = await import("./discovery/discovery.ts");
    const { ip, udpPort } = config.listen;
    const started = new DiscoveryOfChain(
      {
        nodeKey: config.nodeKey,
        publicKey,
        listen: { ip, udpPort: udpPort === 0 ? tcpPort : udpPort },
        tcpPort,
        ip: address.givenIp,
        bootnodes: config.discovery.bootnodes,
        known: known.list().slice(-MAX_KNOWN_ASKED),
      },
      {
        clock,
        log,
        metrics,
        forkId: () => forkIds.at(chain.head()),
        isCompatible: (forkId) => forkIds.check(forkId, chain.head()) === "compatible",
        onNode: (enode) => host.plan.offer(enode),
        wantsPeers: () => host.wantsPeers,
      },
    );
    try {
      await started.start();
    } catch (cause) {
      if (!isCodedError(cause, "peering/udp-bind")) throw cause;
      throw new DevP2PError("devp2p/bad-setting", { setting: `--discovery.port: ${cause.message}` }, { cause });
    }
    return started;
  }

  /** Announces the block range to peers on eth/69. */
  async function tellRanges(): Promise<void> {
    let told = { number: chain.head().number, atMs: clock.monotonicMs() };
    while (!closing.signal.aborted) {
      await clock.sleep(RANGE_INTERVAL_MS, closing.signal);
      if (closing.signal.aborted) return;
      const { number, hash } = chain.head();
      const isDue = Math.abs(number - told.number) >= RANGE_BLOCKS || clock.monotonicMs() - told.atMs >= RANGE_MS;
      if (number === told.number || !isDue) continue;
      told = { number, atMs: clock.monotonicMs() };
      for (const peer of host.peers) peer.tellRange({ earliest: chain.earliestBlock, latest: number, latestHash: hash });
    }
  }

  return {
    get identity() {
      return identity();
    },
    list: () => host.peers,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    announce: (transactions) => gossip.offer(transactions),
    admin: {
      peers: async () => host.describe(),
      addPeer: async (text) => host.addStatic(parseEnode(text), false),
      removePeer: async (text) => host.remove(parseEnode(text).id),
      addTrustedPeer: async (text) => host.addStatic(parseEnode(text), true),
      removeTrustedPeer: async (text) => host.removeTrusted(parseEnode(text).id),
    },
    async close() {
      closing.abort();
      await address.close();
      await discovery?.close();
      await host.close();
      await telling;
      await store.close();
    },
  };
}

function parseBan(value: unknown): Ban | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { who, untilMs, reason } = value as Partial<Record<keyof Ban, unknown>>;
  return typeof who === "string" && typeof untilMs === "number" && typeof reason === "string"
    ? { who, untilMs, reason }
    : undefined;
}

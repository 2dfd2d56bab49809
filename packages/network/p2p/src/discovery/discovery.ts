import { Discv5 } from "@chainsafe/discv5";
import type { ENR, SignableENR } from "@chainsafe/enr";
import type { PrivateKey } from "@libp2p/interface";
import type { Logger, MetricFactory } from "@rnode/observe";
import { defaultBootnodes } from "@rnode/peering";
import { asTransport, doDiscv5Duties, UdpBindError, UdpTransport } from "@rnode/peering/discv5";
import { useRecordCrypto } from "@rnode/peering/records";
import { type Clock, LruCache } from "@rnode/primitives";
import type { DiscoveryView } from "../parts.ts";
import { P2PSettingError } from "../settings-error.ts";
import { type Bootnode, parseBootnode } from "./bootnodes.ts";
import { createDiscoveryMetrics, type DiscoveryMetrics } from "./discovery-metrics.ts";
import { parseNetworks } from "./ip-networks.ts";
import { chainOf, createOwnRecord, peerOfRecord, type RecordedPeer } from "./node-record.ts";
import { RecordStore } from "./record-store.ts";

export interface DiscoveryOptions {
  readonly networkKey: Uint8Array;
  readonly l1ChainId: bigint;
  readonly l2ChainId: bigint;
  readonly listen: { readonly ip: string; readonly udpPort: number };
  /** the record's endpoint; without `ip`, the address that ten other nodes observe */
  readonly advertise: { readonly ip?: string | undefined; readonly tcpPort: number; readonly udpPort?: number | undefined };
  /** texts; empty: those of the public networks */
  readonly bootnodes: readonly string[];
  readonly netrestrict: readonly string[];
  /** folder; `undefined`: memory */
  readonly path?: string | undefined;
}

export interface DiscoveryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  /** A node of our chain was found, again perhaps. */
  onPeer(peer: RecordedPeer): void;
  /** connections are fewer than wanted */
  wantsPeers(): boolean;
}

/** The library's own types for them do not compile. */
interface Discv5Events {
  on(event: "discovered" | "enrAdded", listener: (record: ENR) => void): void;
  on(event: "multiaddrUpdated", listener: (address: { toString(): string }) => void): void;
}

const WALK_INTERVAL_MS = { wanting: 5_000, content: 20_000 } as const;
const KICK_OFF_DELAY_MS = 3_000;
const BOOTNODE_RETRY_MS = 30_000;
const LOOKUP_LIMIT_MS = 30_000;
const SAVE_INTERVAL_MS = 60_000;
const MAX_REMEMBERED = 2_048;

/**
 * Finds nodes of our chain with discv5: random walks through the table, whose answers are filtered by the `opstack` entry.
 *
 * Spec: docs/protocol/03-p2p.md#discovery
 */
export class Discovery implements DiscoveryView {
  readonly #options: DiscoveryOptions;
  readonly #deps: DiscoveryDeps;
  readonly #bootnodes: readonly Bootnode[];
  readonly #store: RecordStore;
  readonly #record: SignableENR;
  readonly #transport: UdpTransport;
  readonly #discv5: Discv5;
  readonly #metrics: DiscoveryMetrics;
  readonly #closing = new AbortController();
  readonly #loops: Promise<void>[] = [];
  /** by peer id: the latest records of nodes of our chain */
  readonly #peers = new LruCache<string, ENR>(MAX_REMEMBERED);

  /** @throws {P2PSettingError} bootnodes, netrestrict, discovery.path */
  constructor(options: DiscoveryOptions, deps: DiscoveryDeps) {
    this.#options = options;
    this.#deps = deps;
    const { listen, advertise, l1ChainId, bootnodes } = options;
    useRecordCrypto();
    const networks = parseNetworks(options.netrestrict);
    this.#bootnodes = (bootnodes.length > 0 ? bootnodes : defaultBootnodes(l1ChainId, "rollup")).map(parseBootnode);
    this.#store = new RecordStore(options.path, deps.log);
    this.#metrics = createDiscoveryMetrics(deps.metrics, () => this.#discv5.kadValues().length);
    this.#record = createOwnRecord({
      networkKey: options.networkKey,
      chainId: options.l2ChainId,
      ip: advertise.ip,
      tcpPort: advertise.tcpPort,
      udpPort: advertise.udpPort ?? listen.udpPort,
      sequence: BigInt(deps.clock.unixMs()),
    });
    this.#transport = new UdpTransport(
      { ip: listen.ip, port: listen.udpPort, nodeId: this.#record.nodeId, accepts: (ip) => networks.has(ip) },
      { clock: deps.clock, metrics: { dropped: (reason) => this.#metrics.packetsDropped.inc({ reason }) } },
    );
    this.#discv5 = Discv5.create({
      enr: this.#record,
      privateKey: { type: "secp256k1", raw: options.networkKey } as PrivateKey as never,
      bindAddrs: { ip4: this.#transport.bindAddrs[0]! },
      transport: asTransport(this.#transport),
      // Nodes behind address translation state addresses that we do not see: they get answers, but no place in the table.
      config: { enrUpdate: advertise.ip === undefined, allowUnverifiedSessions: true },
    });
  }

  get enr(): string {
    return this.#record.encodeTxt();
  }

  /** `undefined`: no address is known yet */
  get advertisedIp(): string | undefined {
    return this.#record.ip ?? this.#record.ip6;
  }

  table(): readonly string[] {
    return this.#discv5.kadValues().map((record) => record.encodeTxt());
  }

  recordOf(peer: string): { readonly enr: string; readonly chainId: number } | undefined {
    const record = this.#peers.get(peer);
    return record && { enr: record.encodeTxt(), chainId: Number(chainOf(record)) };
  }

  /** @throws {P2PSettingError} listen.udp, listen.ip */
  async start(): Promise<void> {
    await this.#discv5.start().catch((cause: unknown) => {
      if (!(cause instanceof UdpBindError)) throw cause;
      throw new P2PSettingError(cause.setting === "ip" ? "listen.ip" : "listen.udp", cause.message, { cause });
    });
    const { listen, advertise } = this.#options;
    if (listen.udpPort === 0 && advertise.udpPort === undefined) this.#setUdpPort(this.#transport.boundPort);
    this.#loops.push(doDiscv5Duties(this.#discv5, this.#deps.clock, this.#closing.signal));
    const events = this.#discv5 as unknown as Discv5Events;
    events.on("discovered", (record) => this.#offer(record));
    events.on("enrAdded", (record) => this.#offer(record));
    events.on("multiaddrUpdated", (address) =>
      this.#deps.log.info("other nodes agree on our address", { address: address.toString(), enr: this.enr }),
    );
    for (const record of this.#store.load()) this.#discv5.addEnr(record);
    for (const { record, isUnsigned } of this.#bootnodes) if (!isUnsigned) this.#discv5.addEnr(record);
    this.#loops.push(this.#askBootnodes(), this.#walk(), this.#keepRecords());
  }

  #setUdpPort(port: number): void {
    if (this.#transport.ipMode.ip4) this.#record.udp = port;
    else this.#record.udp6 = port;
  }

  /** Sets the external address from a router. */
  setAddress(ip: string, tcpPort: number, udpPort: number): void {
    const { clock } = this.#deps;
    const { ip: stated } = this.#options.advertise;
    if (stated !== undefined || (this.#record.ip === ip && this.#record.tcp === tcpPort && this.#record.udp === udpPort)) return;
    this.#record.ip = ip;
    this.#record.tcp = tcpPort;
    this.#record.udp = udpPort;
    this.#record.seq = BigInt(clock.unixMs());
  }

  #offer(record: ENR): void {
    const peer = peerOfRecord(record, this.#options.l2ChainId);
    this.#metrics.records.inc({ verdict: peer === undefined ? "other" : "peer" });
    if (peer === undefined) return;
    const known = this.#peers.get(peer.peerId);
    if (known === undefined || known.seq <= record.seq) this.#peers.set(peer.peerId, record);
    this.#deps.onPeer(peer);
  }

  /** The records of `enode://` bootnodes are missing at the start, and a bootnode can be down then. */
  async #askBootnodes(): Promise<void> {
    const { signal } = this.#closing;
    let waiting = [...this.#bootnodes];
    while (waiting.length > 0 && !signal.aborted) {
      const answered = await Promise.all(waiting.map((bootnode) => this.#ask(bootnode)));
      waiting = waiting.filter((_, index) => answered[index] !== true);
      if (waiting.length > 0) await this.#deps.clock.sleep(BOOTNODE_RETRY_MS, signal);
    }
  }

  async #ask({ record }: Bootnode): Promise<boolean> {
    if (record.nodeId === this.#record.nodeId) return true;
    try {
      const own = (await this.#discv5.sendFindNode(record, [0])).find(({ nodeId }) => nodeId === record.nodeId);
      if (own === undefined) return false;
      this.#discv5.addEnr(own);
      return true;
    } catch (error) {
      this.#deps.log.debug("a bootnode does not answer", {
        ip: record.ip ?? record.ip6,
        udp: record.udp ?? record.udp6,
        error: String(error),
      });
      return false;
    }
  }

  async #walk(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    await clock.sleep(KICK_OFF_DELAY_MS, signal);
    for (const record of this.#discv5.kadValues()) this.#offer(record);
    while (!signal.aborted) {
      const lookup = this.#discv5.findRandomNode().then((found) => {
        for (const record of found) this.#offer(record);
      });
      // A lookup of dead nodes has its own timeout; closing does not wait for it.
      await Promise.race([lookup, clock.sleep(LOOKUP_LIMIT_MS, signal)]);
      await clock.sleep(this.#deps.wantsPeers() ? WALK_INTERVAL_MS.wanting : WALK_INTERVAL_MS.content, signal);
    }
  }

  async #keepRecords(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(SAVE_INTERVAL_MS, signal);
      this.#save();
    }
  }

  /** Nodes of the chain first. */
  #save(): void {
    const records = new Map<string, ENR>();
    for (const record of this.#peers.values()) records.set(record.nodeId, record);
    for (const record of this.#discv5.kadValues()) if (record.seq > 0n) records.set(record.nodeId, record);
    this.#store.save([...records.values()]);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#loops);
    this.#save();
    await this.#discv5.stop();
  }
}

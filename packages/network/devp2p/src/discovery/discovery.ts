import { isIP } from "node:net";
import { Discv5 } from "@chainsafe/discv5";
import { ENR, type SignableENR } from "@chainsafe/enr";
import type { Logger } from "@rnode/observe";
import { isPrivateIp } from "@rnode/peering";
import { asTransport, doDiscv5Duties, UdpTransport } from "@rnode/peering/discv5";
import { useRecordCrypto } from "@rnode/peering/records";
import type { Clock } from "@rnode/primitives";
import type { ForkId } from "@rnode/protocol";
import type { DevP2PMetrics } from "../devp2p-metrics.ts";
import { type Enode, parseEnode } from "../enode.ts";
import { DevP2PError } from "../errors.ts";
import { DiscV4 } from "./discv4.ts";
import { createOwnRecord, enodeOfRecord, forkIdOf, setEndpoint, setForkId } from "./node-record.ts";
import type { V4Node } from "./v4-packets.ts";

export interface DiscoveryOptions {
  readonly nodeKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly listen: { readonly ip: string; readonly udpPort: number };
  readonly tcpPort: number;
  /** advertised address; `undefined`: the address that other nodes observe */
  readonly ip?: string | undefined;
  /** `enode://` or `enr:` texts */
  readonly bootnodes: readonly string[];
  /** peers of earlier runs, used as boot nodes until a node answers */
  readonly known: readonly Enode[];
}

export interface DiscoveryDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DevP2PMetrics;
  readonly forkId: () => ForkId;
  readonly isCompatible: (forkId: ForkId) => boolean;
  /** A node of our chain was found, again perhaps. */
  readonly onNode: (enode: Enode) => void;
  /** connections are fewer than wanted */
  readonly wantsPeers: () => boolean;
}

/** The library's own types for them do not compile. */
interface Discv5Events {
  on(event: "discovered" | "enrAdded", listener: (record: ENR) => void): void;
}

const WALK_INTERVAL_MS = { wanting: 5_000, content: 30_000 } as const;
const FIRST_WALK_MS = 200;
const LOOKUP_LIMIT_MS = 20_000;
const REVALIDATE_INTERVAL_MS = 10_000;

/**
 * Finds nodes of the chain with discv5 and discv4 on one UDP port. Both find node records, whose fork id shows whether a node can
 * be on the chain. The records of boot nodes given as `enode://`, and of peers of earlier runs, are requested with discv4.
 */
export class Discovery {
  readonly #deps: DiscoveryDeps;
  readonly #options: DiscoveryOptions;
  readonly #record: SignableENR;
  readonly #transport: UdpTransport;
  readonly #discv5: Discv5;
  readonly #discv4: DiscV4;
  readonly #bootRecords: readonly ENR[];
  readonly #bootNodes: readonly V4Node[];
  readonly #knownNodes: readonly V4Node[];
  readonly #closing = new AbortController();
  readonly #loops: Promise<void>[] = [];
  #forkId: ForkId;

  /** @throws {DevP2PError} devp2p/bad-setting */
  constructor(options: DiscoveryOptions, deps: DiscoveryDeps) {
    this.#options = options;
    this.#deps = deps;
    const { nodeKey, publicKey, listen } = options;
    useRecordCrypto();
    const boot = options.bootnodes.map(parseBootnode);
    this.#bootRecords = boot.flatMap(({ record }) => record ?? []);
    this.#bootNodes = boot.flatMap(({ enode }) => (enode === undefined ? [] : [{ ...enode, ip: enode.host }]));
    this.#knownNodes = options.known
      .filter(({ host, udpPort }) => isIP(host) !== 0 && udpPort > 0)
      .map((enode) => ({ ...enode, ip: enode.host }));
    this.#forkId = deps.forkId();
    this.#record = createOwnRecord(nodeKey, this.#forkId, BigInt(deps.clock.unixMs()));
    setEndpoint(this.#record, options.ip, options.tcpPort, listen.udpPort);
    this.#transport = new UdpTransport(
      { ip: listen.ip, port: listen.udpPort, nodeId: this.#record.nodeId, accepts: () => true },
      {
        clock: deps.clock,
        metrics: { dropped: (reason) => deps.metrics.packetsDropped.inc({ reason }) },
        other: (data, from) => this.#discv4.receive(data, from),
      },
    );
    this.#discv5 = Discv5.create({
      enr: this.#record,
      privateKey: { type: "secp256k1", raw: nodeKey } as never,
      bindAddrs: { ip4: this.#transport.bindAddrs[0]! },
      transport: asTransport(this.#transport),
      // Nodes behind address translation state addresses that we do not see: they get answers, but no place in the table.
      config: { enrUpdate: options.ip === undefined, allowUnverifiedSessions: true },
    });
    this.#discv4 = new DiscV4({
      privateKey: nodeKey,
      publicKey,
      clock: deps.clock,
      endpoint: () => ({ ip: this.advertisedIp ?? "0.0.0.0", udpPort: this.udpPort, tcpPort: options.tcpPort }),
      record: () => ({ encoded: this.#record.encode(), sequence: this.#record.seq }),
      send: (data, ip, port) => this.#transport.sendOther(data, ip, port),
      onRecord: (encoded, node) => this.#takeRecord(encoded, node),
    });
  }

  get enr(): string {
    return this.#record.encodeTxt();
  }

  get udpPort(): number {
    return this.#transport.boundPort;
  }

  /** `undefined`: no address is known yet */
  get advertisedIp(): string | undefined {
    return this.#record.ip ?? this.#record.ip6;
  }

  get tableSize(): number {
    return this.#discv4.table.size + this.#discv5.kadValues().length;
  }

  /** @throws {UdpBindError} */
  async start(): Promise<void> {
    await this.#discv5.start();
    if (this.#options.listen.udpPort === 0) setEndpoint(this.#record, undefined, this.#options.tcpPort, this.udpPort);
    this.#loops.push(doDiscv5Duties(this.#discv5, this.#deps.clock, this.#closing.signal));
    const events = this.#discv5 as unknown as Discv5Events;
    events.on("discovered", (record) => this.#offer(record));
    events.on("enrAdded", (record) => this.#offer(record));
    for (const record of this.#bootRecords) this.#discv5.addEnr(record);
    this.#loops.push(this.#walkFive(), this.#walkFour(), this.#revalidate());
  }

  /** Sets the external address from a router. */
  setAddress(ip: string, tcpPort: number, udpPort: number): void {
    if (this.#options.ip !== undefined) return;
    setEndpoint(this.#record, ip, tcpPort, udpPort);
    this.#record.seq = BigInt(this.#deps.clock.unixMs());
  }

  #takeRecord(encoded: Uint8Array, node: V4Node): void {
    let record: ENR;
    try {
      record = ENR.decode(encoded);
    } catch (error) {
      this.#deps.log.debug("a node's record cannot be read", { ip: node.ip, error: String(error) });
      return;
    }
    if (enodeOfRecord(record) === undefined) {
      // a node without a known address: its packets show the address
      if (this.#isOurs(record) && node.tcpPort > 0)
        this.#deps.onNode({ ...node, id: Buffer.from(node.publicKey).toString("hex"), host: node.ip });
      return;
    }
    this.#offer(record);
    if (forkIdOf(record) !== undefined) this.#discv5.addEnr(record);
  }

  #isOurs(record: ENR): boolean {
    const forkId = forkIdOf(record);
    const isOurs = forkId !== undefined && this.#deps.isCompatible(forkId);
    this.#deps.metrics.discovered.inc({ verdict: isOurs ? "peer" : "other" });
    return isOurs;
  }

  #offer(record: ENR): void {
    const enode = enodeOfRecord(record);
    if (enode === undefined || !this.#isOurs(record)) return;
    // who is on the internet is not sent to addresses of our own network
    if (isPrivateIp(enode.host) && this.advertisedIp !== undefined && !isPrivateIp(this.advertisedIp)) return;
    this.#deps.onNode(enode);
  }

  #followForks(): void {
    const forkId = this.#deps.forkId();
    if (forkId.next === this.#forkId.next && forkId.hash.every((byte, index) => byte === this.#forkId.hash[index])) return;
    this.#forkId = forkId;
    setForkId(this.#record, forkId);
  }

  get #intervalMs(): number {
    return this.#deps.wantsPeers() ? WALK_INTERVAL_MS.wanting : WALK_INTERVAL_MS.content;
  }

  async #walkFive(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    await clock.sleep(FIRST_WALK_MS, signal);
    while (!signal.aborted) {
      this.#followForks();
      for (const record of this.#discv5.kadValues()) this.#offer(record);
      const lookup = this.#discv5.findRandomNode().then(
        (found) => {
          for (const record of found) this.#offer(record);
        },
        (error: unknown) => this.#deps.log.debug("a walk through discv5 ended early", { error }),
      );
      // A lookup of dead nodes has its own timeout; closing does not wait for it.
      await Promise.race([lookup, clock.sleep(LOOKUP_LIMIT_MS, signal)]);
      await clock.sleep(this.#intervalMs, signal);
    }
  }

  async #walkFour(): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const known = this.#discv4.table.size === 0 ? this.#knownNodes : [];
      await this.#discv4.walk([...this.#bootNodes, ...known], signal);
      await clock.sleep(this.#intervalMs, signal);
    }
  }

  async #revalidate(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#deps.clock.sleep(REVALIDATE_INTERVAL_MS, signal);
      if (!signal.aborted) await this.#discv4.revalidate();
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#loops);
    await this.#discv5.stop();
  }
}

/** @throws {DevP2PError} devp2p/bad-setting */
function parseBootnode(text: string): { readonly record?: ENR; readonly enode?: Enode } {
  try {
    if (!text.startsWith("enr:")) return { enode: parseEnode(text) };
    const record = ENR.decodeTxt(text);
    const enode = enodeOfRecord(record);
    return enode === undefined ? { record } : { record, enode };
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new DevP2PError("devp2p/bad-setting", { setting: `--bootnodes: ${text.slice(0, 120)}: ${reason}` }, { cause });
  }
}

import type { ECDH } from "node:crypto";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Logger } from "@rnode/observe";
import { canonicalIp, isPrivateIp } from "@rnode/peering";
import { bytesToHex, type Clock, isCodedError, keccak256 } from "@rnode/primitives";
import type { PeerFault } from "../api.ts";
import type { DevP2PMetrics } from "../devp2p-metrics.ts";
import { type Enode, enodeText } from "../enode.ts";
import { DevP2PError } from "../errors.ts";
import { EthPeer, type EthPeerDeps } from "../eth/eth-peer.ts";
import { ETH_VERSIONS, type EthVersion } from "../eth/messages.ts";
import type { PeerDescription } from "../network.ts";
import { RlpxConnection } from "../rlpx/connection.ts";
import { publicKeyOf } from "../rlpx/ecies.ts";
import type { Capability, DisconnectReason } from "../rlpx/hello.ts";
import { SNAP_VERSION } from "../snap/messages.ts";
import type { BanList } from "./ban-list.ts";
import { DialPlan } from "./dial-plan.ts";
import { FaultCount } from "./fault-count.ts";
import { InboundGate, subscriberOf } from "./inbound-gate.ts";
import type { KnownPeers } from "./known-peers.ts";

export interface PeerHostOptions {
  readonly own: ECDH;
  readonly clientId: string;
  readonly ip: string;
  /** 0: any that is free */
  readonly tcpPort: number;
  readonly maxPeers: number;
}

export interface PeerHostDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: DevP2PMetrics;
  readonly bans: BanList;
  /** dialled first */
  readonly known: KnownPeers;
  readonly eth: Omit<EthPeerDeps, "onHead" | "onFault">;
  /** a peer connected, disconnected or announced a head */
  readonly onChange: () => void;
  readonly onJoin: (peer: EthPeer) => void;
  readonly onLeave: (peer: EthPeer) => void;
}

interface HostedPeer {
  readonly eth: EthPeer;
  readonly socket: Socket;
  readonly isInbound: boolean;
  readonly connectedAtMs: number;
  readonly enode: Enode;
  readonly faults: FaultCount;
}

const MAX_DIALLING = 16;
const DIAL_INTERVAL_MS = 1_000;
const CONNECT_LIMIT_MS = 10_000;
/** share of the slots for dialled peers, which inbound peers cannot take */
const DIALLED_SHARE = 1 / 3;
const LIE_BAN_MS = 24 * 3_600_000;
const LIE_ADDRESS_BAN_MS = 3_600_000;
const MALFORMED_BAN_MS = 10 * 60_000;
const OTHER_CHAIN_POSTPONE_MS = 3_600_000;
const FULL_POSTPONE_MS = 2 * 60_000;
/** Connections that wait for `accept` of this process. */
const BACKLOG = 128;

/** In their order on the wire: by name and version. */
const CAPABILITIES: readonly Capability[] = [
  ...ETH_VERSIONS.map((version) => ({ name: "eth", version })).toReversed(),
  { name: "snap", version: SNAP_VERSION },
];

/** Disconnect reasons for metrics and for the peer. */
const REASONS: Readonly<Record<string, DisconnectReason>> = {
  "devp2p/bad-handshake": "protocol-error",
  "devp2p/bad-frame": "protocol-error",
  "devp2p/bad-message": "protocol-error",
  "devp2p/bad-answer": "protocol-error",
  "devp2p/too-large": "protocol-error",
  "devp2p/unexpected-identity": "unexpected-identity",
  "devp2p/other-chain": "useless-peer",
  "devp2p/useless": "useless-peer",
  "devp2p/timeout": "timeout",
};

/** The TCP side of the network: who may connect, whom we dial, and who is connected. */
export class PeerHost {
  readonly plan: DialPlan;
  readonly #options: PeerHostOptions;
  readonly #deps: PeerHostDeps;
  readonly #gate: InboundGate;
  readonly #server: Server;
  readonly #closing = new AbortController();
  readonly #peers = new Map<string, HostedPeer>();
  readonly #trusted = new Set<string>();
  /** being dialled, and inbound ones that exchange statuses */
  readonly #dialling = new Set<string>();
  readonly #sockets = new Set<Socket>();
  #loop: Promise<void> | undefined;
  #wake: AbortController = new AbortController();

  constructor(options: PeerHostOptions, deps: PeerHostDeps) {
    this.#options = options;
    this.#deps = deps;
    this.plan = new DialPlan(deps.clock, Math.random);
    for (const enode of deps.known.list()) this.plan.offer(enode);
    this.#gate = new InboundGate(deps.clock);
    this.#server = createServer({ pauseOnConnect: true }, (socket) => void this.#accept(socket));
  }

  /** @returns the port. @throws {DevP2PError} devp2p/bad-setting */
  async listen(): Promise<number> {
    const { ip, tcpPort } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (cause: NodeJS.ErrnoException) => reject(listenError(ip, tcpPort, cause)));
      this.#server.listen({ host: ip, port: tcpPort, backlog: BACKLOG }, resolve);
    });
    this.#server.removeAllListeners("error");
    this.#server.on("error", (error) => this.#deps.log.debug("a connection cannot be accepted", { error }));
    this.#loop = this.#dialLoop();
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : tcpPort;
  }

  get peers(): readonly EthPeer[] {
    return [...this.#peers.values()].map(({ eth }) => eth);
  }

  get wantsPeers(): boolean {
    return this.#countDialled() < this.#maxDialled;
  }

  get #maxDialled(): number {
    return Math.max(1, Math.floor(this.#options.maxPeers * DIALLED_SHARE));
  }

  #countDialled(): number {
    let count = 0;
    for (const { isInbound, eth } of this.#peers.values()) if (!isInbound && !this.#trusted.has(eth.id)) count++;
    return count;
  }

  addStatic(enode: Enode, isTrusted: boolean): void {
    this.plan.addStatic(enode);
    if (isTrusted) this.#trusted.add(enode.id);
    this.#deps.bans.lift(enode.id);
    this.#wake.abort();
  }

  removeTrusted(id: string): void {
    this.#trusted.delete(id);
  }

  remove(id: string): void {
    this.plan.removeStatic(id);
    this.#trusted.delete(id);
    this.#deps.known.forget(id);
    this.#peers.get(id)?.eth.connection.disconnect("requested");
  }

  describe(): PeerDescription[] {
    return [...this.#peers.values()].map(({ eth, socket, isInbound, connectedAtMs, enode }) => ({
      publicKey: eth.id,
      nodeId: bytesToHex(keccak256(eth.connection.hello.publicKey)).slice(2),
      enode: enodeText(enode),
      clientId: eth.connection.hello.clientId,
      capabilities: eth.connection.hello.capabilities.map(({ name, version }) => `${name}/${version}`),
      ethVersion: eth.version,
      localAddress: addressText(socket.localAddress, socket.localPort),
      remoteAddress: addressText(socket.remoteAddress, socket.remotePort),
      isInbound,
      isTrusted: this.#trusted.has(eth.id),
      isStatic: this.plan.isStatic(eth.id),
      head: eth.head,
      earliestBlock: eth.range?.earliest,
      connectedAtMs,
    }));
  }

  async #dialLoop(): Promise<void> {
    const { signal } = this.#closing;
    const { clock, known } = this.#deps;
    while (!signal.aborted) {
      known.save();
      const isTaken = (id: string): boolean => this.#isTaken(id);
      for (const enode of this.plan.dueStatic(isTaken)) if (this.#dialling.size < MAX_DIALLING) void this.#dial(enode);
      const places = Math.min(this.#maxDialled - this.#countDialled(), this.#options.maxPeers - this.#countLimited());
      const free = Math.min(places, MAX_DIALLING - this.#dialling.size);
      if (free > 0) for (const enode of this.plan.take(free, isTaken)) void this.#dial(enode);
      this.#wake = new AbortController();
      await clock.sleep(DIAL_INTERVAL_MS * (0.75 + Math.random() / 2), AbortSignal.any([signal, this.#wake.signal]));
    }
  }

  #isTaken(id: string): boolean {
    const isOwn = id === bytesToHex(publicKeyOf(this.#options.own)).slice(2);
    return isOwn || this.#peers.has(id) || this.#dialling.has(id) || this.#isBanned(id);
  }

  #isBanned(who: string): boolean {
    return this.#deps.bans.find(who, this.#deps.clock.unixMs()) !== undefined;
  }

  /** Peers that the limit counts. */
  #countLimited(): number {
    let count = 0;
    for (const id of this.#peers.keys()) if (!this.#trusted.has(id)) count++;
    return count;
  }

  async #dial(enode: Enode): Promise<void> {
    const { metrics, log } = this.#deps;
    this.#dialling.add(enode.id);
    this.plan.dialled(enode.id);
    try {
      const socket = await this.#connect(enode);
      const host = canonicalIp(socket.remoteAddress ?? "") ?? enode.host;
      const isAddressBanned = this.#isBanned(subscriberOf(host)) && !this.plan.isStatic(enode.id);
      if (isAddressBanned) {
        socket.destroy();
        metrics.dials.inc({ outcome: "banned" });
        return;
      }
      const connection = await RlpxConnection.open(socket, this.#rlpxOptions(enode.publicKey));
      metrics.dials.inc({ outcome: "connected" });
      this.#dialling.delete(enode.id);
      await this.#host(connection, socket, { ...enode, host }, false);
    } catch (error) {
      metrics.dials.inc({ outcome: outcomeOf(error) });
      this.#learn(enode, error, false);
      log.debug("a peer cannot be reached", { enode: enodeText(enode), reason: messageOf(error) });
    } finally {
      this.#dialling.delete(enode.id);
    }
  }

  #rlpxOptions(remoteKey?: Uint8Array): Parameters<typeof RlpxConnection.open>[1] {
    const { own, clientId } = this.#options;
    const address = this.#server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    return { own, clientId, port, remoteKey, capabilities: CAPABILITIES };
  }

  #connect({ host, tcpPort }: Enode): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: tcpPort });
      this.#track(socket);
      const timer = setTimeout(() => {
        socket.destroy();
        reject(new DevP2PError("devp2p/timeout", { limitMs: CONNECT_LIMIT_MS }));
      }, CONNECT_LIMIT_MS);
      socket.once("error", (cause) => {
        clearTimeout(timer);
        reject(new DevP2PError("devp2p/disconnected", { reason: cause.message }, { cause }));
      });
      socket.once("connect", () => {
        clearTimeout(timer);
        socket.removeAllListeners("error");
        resolve(socket);
      });
    });
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  async #accept(socket: Socket): Promise<void> {
    const { metrics, log } = this.#deps;
    this.#track(socket);
    socket.on("error", () => {}); // until the reader listens
    const ip = canonicalIp(socket.remoteAddress ?? "") ?? "";
    const place = this.#isBanned(subscriberOf(ip)) ? undefined : this.#gate.admit(ip, () => socket.destroy());
    if (place === undefined || this.#closing.signal.aborted) {
      metrics.inbound.inc({ outcome: "refused" });
      socket.destroy();
      return;
    }
    socket.on("close", place.ended);
    try {
      const connection = await RlpxConnection.open(socket, { ...this.#rlpxOptions(), mayAnswer: place.heard });
      place.introduced();
      metrics.inbound.inc({ outcome: "connected" });
      const { publicKey, port } = connection.hello;
      const id = bytesToHex(publicKey).slice(2);
      await this.#host(connection, socket, { publicKey, id, host: ip, tcpPort: port, udpPort: port }, true);
    } catch (error) {
      metrics.inbound.inc({ outcome: outcomeOf(error) });
      log.debug("a connection came to nothing", { ip, reason: messageOf(error) });
    } finally {
      place.introduced();
    }
  }

  /** Why a connection that has introduced itself is not kept. */
  #refusal(id: string, isInbound: boolean): DisconnectReason | undefined {
    if (this.#closing.signal.aborted) return "quitting";
    if (id === bytesToHex(publicKeyOf(this.#options.own)).slice(2)) return "self";
    if (this.#peers.has(id)) return "already-connected";
    if (this.#trusted.has(id)) return undefined;
    if (this.#isBanned(id)) return "useless-peer";
    if (!isInbound && this.plan.isStatic(id)) return undefined;
    const { maxPeers } = this.#options;
    if (this.#countLimited() >= maxPeers) return "too-many-peers";
    if (isInbound && this.#countLimited() - this.#countDialled() >= Math.max(1, maxPeers - this.#maxDialled))
      return "too-many-peers";
    return undefined;
  }

  /** From the first hello until the end of the connection. */
  async #host(connection: RlpxConnection, socket: Socket, enode: Enode, isInbound: boolean): Promise<void> {
    const { clock, metrics, log, known, eth: ethDeps, onChange, onJoin, onLeave } = this.#deps;
    const { id } = enode;
    const end = new AbortController();
    const deps: EthPeerDeps = {
      ...ethDeps,
      onHead: onChange,
      onFault: (fault, detail) => this.#judge(id, fault, detail),
    };
    let eth: EthPeer | undefined;
    try {
      const refusal = this.#refusal(id, isInbound);
      if (refusal !== undefined) {
        connection.disconnect(refusal);
        metrics.ends.inc({ reason: refusal });
        return;
      }
      const version = sharedVersion(connection);
      eth = new EthPeer(connection, version, deps);
      const peer = { eth, socket, isInbound, enode, connectedAtMs: clock.unixMs(), faults: new FaultCount() };
      // two connections at once to the same peer: the first one counts
      this.#dialling.add(id);
      await eth.greet();
      this.#dialling.delete(id);
      const second = this.#refusal(id, isInbound);
      if (second !== undefined) {
        connection.disconnect(second);
        metrics.ends.inc({ reason: second });
        return;
      }
      this.#peers.set(id, peer);
      this.plan.connected(id);
      if (!isInbound) known.add(enode);
      this.#count();
      log.debug("peer connected", { id, client: connection.hello.clientId, eth: version, isInbound });
      onJoin(eth);
      onChange();
      await eth.run(end.signal);
    } catch (error) {
      const reason = outcomeOf(error);
      metrics.ends.inc({ reason });
      log.debug("peer disconnected", { id, reason: messageOf(error) });
      const said = isCodedError(error) ? REASONS[error.code] : undefined;
      if (said === undefined) connection.destroy();
      else connection.disconnect(said);
      this.#learn(enode, error, isInbound);
    } finally {
      end.abort();
      this.#dialling.delete(id);
      if (eth !== undefined && this.#peers.get(id)?.eth === eth) {
        this.#peers.delete(id);
        known.touch(id);
        this.#count();
        onLeave(eth);
        onChange();
      }
    }
  }

  /** Updates the dial plan by the error that ended a connection. */
  #learn(enode: Enode, error: unknown, isInbound: boolean): void {
    const { id } = enode;
    const { bans, clock, known, metrics } = this.#deps;
    if (!isCodedError(error, "devp2p/")) {
      if (!isCodedError(error) && !(error instanceof Error && "code" in error))
        this.#deps.log.error("a peer's connection failed here", { error });
      return;
    }
    switch (error.code) {
      case "devp2p/bad-frame":
      case "devp2p/bad-message":
      case "devp2p/bad-answer":
      case "devp2p/too-large":
        if (this.#trusted.has(id)) return;
        metrics.bans.inc({ reason: "malformed" });
        bans.ban(id, clock.unixMs() + MALFORMED_BAN_MS, error.message);
        known.forget(id);
        return;
      case "devp2p/other-chain":
      case "devp2p/useless":
        this.plan.postpone(id, OTHER_CHAIN_POSTPONE_MS);
        known.forget(id);
        return;
      case "devp2p/disconnected":
        if (error.data.reason === "already-connected" && !isInbound) this.plan.collided(enode);
        if (error.data.reason === "too-many-peers") this.plan.postpone(id, FULL_POSTPONE_MS);
        if (error.data.reason === "useless-peer") this.plan.postpone(id, OTHER_CHAIN_POSTPONE_MS);
        return;
      default:
        return;
    }
  }

  /** Handles a fault that a requester reports about the peer's answers. */
  #judge(id: string, fault: PeerFault, detail: string): void {
    const { bans, clock, known, metrics, log } = this.#deps;
    const peer = this.#peers.get(id);
    const nowMs = clock.unixMs();
    if (fault === "lied") {
      log.info("peer banned: it lied", { id, client: peer?.eth.connection.hello.clientId, detail });
      metrics.bans.inc({ reason: "lied" });
      bans.ban(id, nowMs + LIE_BAN_MS, detail);
      known.forget(id);
      const ip = peer?.enode.host;
      if (ip !== undefined && !isPrivateIp(ip)) bans.ban(subscriberOf(ip), nowMs + LIE_ADDRESS_BAN_MS, detail);
      peer?.eth.connection.disconnect("useless-peer");
      return;
    }
    if (peer === undefined || !peer.faults.add(fault, clock.monotonicMs()) || this.#trusted.has(id)) return;
    this.plan.postpone(id, FULL_POSTPONE_MS);
    peer.eth.connection.disconnect(fault === "slow" ? "timeout" : "useless-peer");
  }

  #count(): void {
    const { metrics } = this.#deps;
    const inbound = [...this.#peers.values()].filter(({ isInbound }) => isInbound).length;
    metrics.peers.set(inbound, { direction: "inbound" });
    metrics.peers.set(this.#peers.size - inbound, { direction: "outbound" });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const { eth } of this.#peers.values()) eth.connection.disconnect("quitting");
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#loop;
    for (const id of this.#peers.keys()) this.#deps.known.touch(id);
    this.#deps.known.save();
    await this.#deps.clock.sleep(50);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

/** @throws {DevP2PError} devp2p/useless */
function sharedVersion({ hello }: RlpxConnection): EthVersion {
  const version = ETH_VERSIONS.find((own) =>
    hello.capabilities.some(({ name, version: theirs }) => name === "eth" && theirs === own),
  );
  if (version === undefined) {
    const offered = hello.capabilities.map(({ name, version: offer }) => `${name}/${offer}`).join(" ");
    throw new DevP2PError("devp2p/useless", { reason: offered.slice(0, 200) || "no capabilities" });
  }
  return version;
}

const addressText = (ip: string | undefined, port: number | undefined): string => {
  const canonical = canonicalIp(ip ?? "") ?? "";
  return `${canonical.includes(":") ? `[${canonical}]` : canonical}:${port ?? 0}`;
};

const outcomeOf = (error: unknown): string => (isCodedError(error, "devp2p/") ? error.code.slice("devp2p/".length) : "error");
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

function listenError(ip: string, port: number, cause: NodeJS.ErrnoException): DevP2PError {
  const setting =
    cause.code === "EADDRINUSE"
      ? `--port ${port}: TCP port ${port} is taken; choose another, 0 for any, or stop what listens there`
      : `--port ${port}: cannot listen at ${ip} (${cause.message})`;
  return new DevP2PError("devp2p/bad-setting", { setting }, { cause });
}

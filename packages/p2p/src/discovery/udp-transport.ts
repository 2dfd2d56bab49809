import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { EventEmitter } from "node:events";
import { isIPv6 } from "node:net";
import type { ITransportService } from "@chainsafe/discv5";
import { decodePacket, encodePacket, type IPacket, MAX_PACKET_SIZE, PacketType } from "@chainsafe/discv5/packet";
import { getSocketAddressOnENR, type SocketAddress } from "@chainsafe/discv5/util";
import type { BaseENR } from "@chainsafe/enr";
import { PacketLimiter } from "@rnode/peering";
import type { Clock } from "@rnode/primitives";
import { type Multiaddr, multiaddr } from "ma12";
import { P2PSettingError } from "../settings-error.ts";
import type { IpNetworks } from "./ip-networks.ts";

export interface UdpTransportOptions {
  readonly ip: string;
  readonly port: number;
  /** our own, 64 hex digits: what packets are masked with */
  readonly nodeId: string;
  readonly networks: IpNetworks;
}

export interface UdpTransportMetrics {
  /** a packet was not looked at */
  dropped(reason: DropReason): void;
}

export type DropReason = "limit" | "network" | "format";

const RECEIVE_BUFFER_BYTES = 256 * 1024;

/**
 * The UDP socket under discv5. In place of the library's: a port that is taken is an error instead of a crash, packets from and to
 * addresses outside `networks` do not pass, and floods are dropped before anything is decrypted or verified for them.
 */
export class UdpTransport extends EventEmitter {
  readonly bindAddrs: Multiaddr[];
  readonly ipMode: ITransportService["ipMode"];
  readonly #options: UdpTransportOptions;
  readonly #metrics: UdpTransportMetrics;
  readonly #limiter: PacketLimiter;
  #socket: Socket | undefined;

  constructor(options: UdpTransportOptions, { clock, metrics }: { readonly clock: Clock; readonly metrics: UdpTransportMetrics }) {
    super();
    this.#options = options;
    this.#metrics = metrics;
    this.#limiter = new PacketLimiter(clock);
    const isSix = isIPv6(options.ip);
    this.bindAddrs = [multiaddr(`/${isSix ? "ip6" : "ip4"}/${options.ip}/udp/${options.port}`)];
    this.ipMode = isSix ? { ip4: false, ip6: true } : { ip4: true, ip6: false };
  }

  get boundPort(): number {
    return this.#socket?.address().port ?? this.#options.port;
  }

  /** @throws {P2PSettingError} listen.udp, listen.ip */
  async start(): Promise<void> {
    if (this.#socket !== undefined) return;
    const { ip, port } = this.#options;
    const socket = createSocket({
      ...(isIPv6(ip) ? { type: "udp6", ipv6Only: true } : { type: "udp4" }),
      recvBufferSize: RECEIVE_BUFFER_BYTES,
    });
    await new Promise<void>((resolve, reject) => {
      socket.once("error", (cause: NodeJS.ErrnoException) => {
        socket.close();
        reject(bindError(ip, port, cause));
      });
      socket.bind(port, ip, () => {
        socket.removeAllListeners("error");
        resolve();
      });
    });
    // ICMP errors of earlier packets; discv5 notices that no answer comes.
    socket.on("error", () => {});
    socket.on("message", (data, from) => this.#receive(data, from));
    this.#socket = socket;
  }

  async stop(): Promise<void> {
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.removeAllListeners("message");
    if (socket !== undefined) await new Promise<void>((resolve) => socket.close(() => resolve()));
  }

  async send(to: Multiaddr, toId: string, packet: IPacket): Promise<void> {
    const { host, port } = to.toOptions();
    if (!this.#options.networks.has(host) || port === 0) return;
    this.#limiter.expectAnswer(host);
    this.#socket?.send(encodePacket(toId, packet), port, host, () => {});
  }

  getContactableAddr(enr: BaseENR): SocketAddress | undefined {
    return getSocketAddressOnENR(enr, this.ipMode);
  }

  #receive(data: Buffer, from: RemoteInfo): void {
    const reason = this.#take(data, from);
    if (reason !== undefined) this.#metrics.dropped(reason);
  }

  /** @returns why the packet is not looked at */
  #take(data: Buffer, { address, family, port }: RemoteInfo): DropReason | undefined {
    if (!this.#options.networks.has(address)) return "network";
    if (data.length > MAX_PACKET_SIZE) return "format";
    if (!this.#limiter.allows(address)) return "limit";
    let packet: IPacket;
    try {
      packet = decodePacket(this.#options.nodeId, data);
    } catch {
      return "format";
    }
    if (packet.header.flag === PacketType.Handshake && !this.#limiter.allowsHandshake(address)) return "limit";
    this.emit("packet", multiaddr(`/${family === "IPv6" ? "ip6" : "ip4"}/${address.split("%")[0]}/udp/${port}`), packet);
    return undefined;
  }
}

function bindError(ip: string, port: number, cause: NodeJS.ErrnoException): P2PSettingError {
  switch (cause.code) {
    case "EADDRINUSE":
      return new P2PSettingError("listen.udp", `UDP port ${port} is taken: choose another, or stop what listens there`, { cause });
    case "EADDRNOTAVAIL":
      return new P2PSettingError("listen.ip", `${ip} is no address of this machine`, { cause });
    default:
      return new P2PSettingError("listen.udp", `UDP port ${port} at ${ip} cannot be used (${cause.message})`, { cause });
  }
}

/** The type that discv5 wants its transport to have. */
export const asTransport = (transport: UdpTransport): ITransportService => transport as unknown as ITransportService;

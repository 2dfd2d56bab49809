import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { EventEmitter } from "node:events";
import { isIPv6 } from "node:net";
import type { ITransportService } from "@chainsafe/discv5";
import { decodePacket, encodePacket, type IPacket, MAX_PACKET_SIZE, PacketType } from "@chainsafe/discv5/packet";
import { getSocketAddressOnENR, type SocketAddress } from "@chainsafe/discv5/util";
import type { BaseENR } from "@chainsafe/enr";
import { type Clock, CodedError } from "@rnode/primitives";
import { type Multiaddr, multiaddr } from "ma12";
import { PacketLimiter } from "./packet-limiter.ts";

export interface UdpTransportOptions {
  readonly ip: string;
  readonly port: number;
  /** the own node id, 64 hex digits, which masks packets */
  readonly nodeId: string;
  /** addresses that packets may come from and go to */
  readonly accepts: (ip: string) => boolean;
}

export interface UdpTransportDeps {
  readonly clock: Clock;
  readonly metrics: UdpTransportMetrics;
  readonly other?: OtherProtocol | undefined;
}

export interface UdpTransportMetrics {
  /** a packet was not looked at */
  dropped(reason: DropReason): void;
}

/** Another protocol on the same socket. @returns whether the datagram is one of it */
export type OtherProtocol = (data: Uint8Array, from: { readonly ip: string; readonly port: number }) => boolean;

export type DropReason = "limit" | "network" | "format";

const RECEIVE_BUFFER_BYTES = 256 * 1024;

/**
 * The UDP socket of discv5, which replaces the library's. A used port is an error instead of a crash, packets from and to
 * addresses outside `networks` are dropped, and floods are dropped before decryption and verification.
 */
export class UdpTransport extends EventEmitter {
  readonly bindAddrs: Multiaddr[];
  readonly ipMode: ITransportService["ipMode"];
  readonly #options: UdpTransportOptions;
  readonly #metrics: UdpTransportMetrics;
  readonly #limiter: PacketLimiter;
  readonly #other: OtherProtocol | undefined;
  #socket: Socket | undefined;

  constructor(options: UdpTransportOptions, { clock, metrics, other }: UdpTransportDeps) {
    super();
    this.#other = other;
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

  /** @throws {UdpBindError} */
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
    if (!this.#options.accepts(host) || port === 0) return;
    this.#limiter.expectAnswer(host);
    this.#socket?.send(encodePacket(toId, packet), port, host, () => {});
  }

  /** Sends a datagram of the other protocol. */
  sendOther(data: Uint8Array, ip: string, port: number): void {
    if (!this.#options.accepts(ip) || port === 0) return;
    this.#limiter.expectAnswer(ip);
    this.#socket?.send(data, port, ip, () => {});
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
    if (!this.#options.accepts(address)) return "network";
    if (data.length > MAX_PACKET_SIZE) return "format";
    if (!this.#limiter.allows(address)) return "limit";
    if (this.#other?.(data, { ip: address, port }) === true) return undefined;
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

/** A UDP port cannot be listened on. */
export class UdpBindError extends CodedError<"peering/udp-bind"> {
  /** the invalid setting */
  readonly setting: "port" | "ip";

  constructor(setting: "port" | "ip", text: string, options?: ErrorOptions) {
    super("peering/udp-bind", {}, options);
    this.setting = setting;
    this.message = text;
  }
}

function bindError(ip: string, port: number, cause: NodeJS.ErrnoException): UdpBindError {
  switch (cause.code) {
    case "EADDRINUSE":
      return new UdpBindError("port", `UDP port ${port} is taken: choose another, or stop what listens there`, { cause });
    case "EADDRNOTAVAIL":
      return new UdpBindError("ip", `${ip} is no address of this machine`, { cause });
    default:
      return new UdpBindError("port", `UDP port ${port} at ${ip} cannot be used (${cause.message})`, { cause });
  }
}

/** Converts to the type of discv5's transport. */
export const asTransport = (transport: UdpTransport): ITransportService => transport as unknown as ITransportService;

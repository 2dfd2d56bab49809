import { createSocket, type Socket } from "node:dgram";
import { ENR } from "@chainsafe/enr";
import { privateKeyToPublicKey } from "@rnode/primitives";
import type { ForkId } from "@rnode/protocol";
import { createOwnRecord, forkIdOf, setEndpoint } from "../discovery/node-record.ts";
import { decodeV4, encodeV4, isV4Packet, type V4Message, type V4Node } from "../discovery/v4-packets.ts";

export interface Address {
  readonly ip: string;
  readonly port: number;
}

const nowSec = (): number => Math.floor(Date.now() / 1000);

/** A scripted discv4 node with its own key and UDP port. It answers pings like a normal node. */
export class HostileV4Node {
  readonly node: V4Node;
  /** Called for each message, after pings were answered. */
  onMessage: (message: V4Message, hash: Uint8Array, from: Address) => void = () => {};
  readonly #socket: Socket;
  readonly #privateKey: Uint8Array;

  private constructor(socket: Socket, privateKey: Uint8Array, tcpPort: number) {
    const { address: ip, port: udpPort } = socket.address();
    this.#socket = socket;
    this.#privateKey = privateKey;
    this.node = { ip, udpPort, tcpPort, publicKey: privateKeyToPublicKey(privateKey) };
    socket.on("message", (data, { address, port }) => {
      const packet = isV4Packet(data) ? decodeV4(data, nowSec()) : undefined;
      if (packet === undefined) return;
      const from = { ip: address, port };
      if (packet.message.kind === "ping") this.pong(packet.hash, from);
      this.onMessage(packet.message, packet.hash, from);
    });
  }

  /** @param ip an address of this machine */
  static async open(ip: string, tcpPort = 0): Promise<HostileV4Node> {
    const socket = createSocket("udp4");
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.bind(0, ip, resolve));
    return new HostileV4Node(socket, randomKey(), tcpPort);
  }

  say(message: V4Message, to: Address): void {
    const { packet } = encodeV4(message, this.#privateKey, nowSec());
    this.#socket.send(packet, to.port, to.ip, () => {});
  }

  ping(to: Address): void {
    this.say({ kind: "ping", from: this.node, to: endpointOf(to), recordSequence: 1n }, to);
  }

  pong(pingHash: Uint8Array, to: Address): void {
    this.say({ kind: "pong", to: endpointOf(to), pingHash, recordSequence: 1n }, to);
  }

  close(): void {
    this.#socket.close();
  }
}

const endpointOf = ({ ip, port }: Address) => ({ ip, udpPort: port, tcpPort: port });
const randomKey = (): Uint8Array => crypto.getRandomValues(new Uint8Array(32));

/** RLP of a record with a new key: a node of the chain at this address. */
export function recordOfNewKey(forkId: ForkId, ip: string, tcpPort: number, udpPort: number): Uint8Array {
  const record = createOwnRecord(randomKey(), forkId, 1n);
  setEndpoint(record, ip, tcpPort, udpPort);
  return record.encode();
}

/** The chain of the node whose record this is. @throws {Error} it names none */
export function forkIdOfRecord(encoded: Uint8Array): ForkId {
  const forkId = forkIdOf(ENR.decode(encoded));
  if (forkId === undefined) throw new Error("a record without a fork id");
  return forkId;
}

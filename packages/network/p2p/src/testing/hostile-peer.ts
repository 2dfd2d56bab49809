import { connect as connectSocket, type Socket } from "node:net";
import { RPC } from "@libp2p/gossipsub/message";
import type { Connection, Stream } from "@libp2p/interface";
import { multiaddr } from "@multiformats/multiaddr";
import { createHost, type Host } from "../host/create-host.ts";
import { connectionLimits } from "../network.ts";
import { encodeRequest, payloadByNumberProtocols } from "../wire/payload-by-number.ts";
import { blockTopics } from "../wire/topics.ts";

export { compressSnappyBlock } from "@rnode/peering";
export { encodeRequest as encodeBlockRequest };
/** The topic of the newest version of blocks. */
export const newestBlockTopic = (l2ChainId: bigint): string => blockTopics(l2ChainId).at(-1)!.topic;
export const blockRequestProtocol = (l2ChainId: bigint): string => payloadByNumberProtocols(l2ChainId)[0];

const MESH_PROTOCOL = "/meshsub/1.1.0";

/** A libp2p node that sends arbitrary data above the connection. */
export class HostilePeer {
  readonly #host: Host;
  #connection: Connection | undefined;
  #mesh: Stream | undefined;
  readonly #readsMesh: boolean;

  private constructor(host: Host, readsMesh: boolean) {
    this.#host = host;
    this.#readsMesh = readsMesh;
  }

  /** @param readsMesh false: accepts gossip streams, and never reads them */
  static async start(readsMesh = true): Promise<HostilePeer> {
    const host = await createHost({
      networkKey: crypto.getRandomValues(new Uint8Array(32)),
      userAgent: "hostile",
      limits: connectionLimits(30),
    });
    const peer = new HostilePeer(host, readsMesh);
    await host.handle(MESH_PROTOCOL, (stream) => {
      if (peer.#readsMesh) stream.addEventListener("message", () => {});
      else stream.pause();
    });
    await host.start();
    return peer;
  }

  get peerId(): string {
    return this.#host.peerId.toString();
  }

  get isConnected(): boolean {
    return this.#connection?.status === "open";
  }

  async connect(address: string): Promise<void> {
    this.#connection = await this.#host.dial(multiaddr(address));
    this.#mesh = undefined;
  }

  /** Joins the mesh of the topics as a subscriber. */
  async join(topics: readonly string[]): Promise<void> {
    await this.gossip({ subscriptions: topics.map((topic) => ({ topic, subscribe: true })), messages: [] });
    await this.gossip({
      subscriptions: [],
      messages: [],
      control: { ihave: [], iwant: [], graft: topics.map((topicID) => ({ topicID })), prune: [], idontwant: [] },
    });
  }

  /** One message, whatever it contains. */
  async send(topic: string, data: Uint8Array): Promise<void> {
    await this.gossip({ subscriptions: [], messages: [{ topic, data }] });
  }

  async gossip(rpc: RPC): Promise<void> {
    await this.gossipFrame(RPC.encode(rpc));
  }

  /** @param claimedLength the length prefix; default: the right one */
  async gossipFrame(frame: Uint8Array, claimedLength = frame.length): Promise<void> {
    this.#mesh ??= await this.#open(MESH_PROTOCOL);
    const prefix = varint(claimedLength);
    const bytes = new Uint8Array(prefix.length + frame.length);
    bytes.set(prefix);
    bytes.set(frame, prefix.length);
    if (!this.#mesh.send(bytes)) await this.#mesh.onDrain();
  }

  /** Sends a request and reads the whole answer. @param options.reads false: leaves it unread and comes back at once */
  async request(protocol: string, bytes: Uint8Array, options: { readonly reads?: boolean } = {}): Promise<Uint8Array> {
    const stream = await this.#open(protocol);
    if (options.reads === false) stream.pause();
    stream.send(bytes);
    await stream.close();
    if (options.reads === false) return new Uint8Array(0);
    const parts: Uint8Array[] = [];
    for await (const part of stream) parts.push(part.subarray());
    return new Uint8Array(Buffer.concat(parts));
  }

  async close(): Promise<void> {
    await this.#host.stop();
  }

  #open(protocol: string): Promise<Stream> {
    if (this.#connection === undefined) throw new Error("connect first");
    return this.#connection.newStream(protocol);
  }
}

/** Sockets that connect and stay silent. */
export async function silentSockets(port: number, count: number): Promise<Socket[]> {
  return Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<Socket>((resolve) => {
          const socket = connectSocket({ port, host: "127.0.0.1" });
          socket.once("connect", () => resolve(socket));
          socket.on("error", () => resolve(socket));
        }),
    ),
  );
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest & 127) | 128);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

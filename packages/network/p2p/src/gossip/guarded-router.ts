import type { GossipSub, GossipSubComponents } from "@libp2p/gossipsub";
import type { RPC } from "@libp2p/gossipsub/message";
import type { Connection, PeerId, Stream } from "@libp2p/interface";
import { MAX_MESSAGE_BYTES } from "../wire/gossip-message.ts";
import { FrameMemory, FrameReader } from "./inbound-frames.ts";

/** Total limit of held bytes for all peers. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;

/** Decides over single messages of a peer. */
export interface MessageGate {
  /** @param judge passes the message to the router: decompression, validation, forwarding */
  admit(peer: string, judge: () => Promise<void>): Promise<void>;
}

/** The method of the router through which everything from peers comes. Its published type does not have it. */
interface RpcHandler {
  handleReceivedRpc(from: PeerId, rpc: RPC): Promise<void>;
}

/**
 * Has each message of a peer pass the gate before the router does anything with it, one after the other. Subscriptions and control
 * messages of the same RPC do not wait for it.
 *
 * @throws TypeError for anything but a router of the library's version that this was written for
 */
export function guardRouter(router: GossipSub, gate: MessageGate): void {
  const handler = router as unknown as RpcHandler;
  if (typeof handler.handleReceivedRpc !== "function") {
    throw new TypeError(
      "gossipsub takes messages in another way than expected: gossip/guarded-router.ts belongs to one version of it",
    );
  }
  const handle = handler.handleReceivedRpc.bind(router);
  handler.handleReceivedRpc = async (from, rpc) => {
    const { messages } = rpc;
    if (messages.length === 0) return handle(from, rpc);
    await handle(from, { ...rpc, messages: [] });
    const peer = from.toString();
    for (const message of messages) {
      await gate.admit(peer, () => handle(from, { subscriptions: [], messages: [message] }));
    }
  };
}

/**
 * The node's components, with streams of which gossipsub reads whole frames, and no faster than it works on them. A peer to which we
 * cannot send any more is disconnected: gossipsub would keep it, deaf, as long as its connection lasts.
 */
export function withBoundedStreams(components: GossipSubComponents): GossipSubComponents {
  const memory = new FrameMemory(MAX_HELD_BYTES);
  const { registrar, privateKey, peerId, peerStore, connectionManager, logger } = components;
  const handle: Registrar["handle"] = (protocol, handler, options) =>
    registrar.handle(
      protocol,
      (stream, connection) => handler(readByFrames(stream, memory), endingWithItsStream(connection)),
      options,
    );
  const register: Registrar["register"] = (protocol, topology) =>
    registrar.register(protocol, {
      ...topology,
      onConnect: (peer, connection) => topology.onConnect?.(peer, endingWithItsStream(connection)),
    });
  return {
    privateKey,
    peerId,
    peerStore,
    connectionManager,
    logger,
    registrar: withMethods(registrar, { handle, register }),
  };
}

type Registrar = GossipSubComponents["registrar"];

/** The object with some of its methods replaced. */
function withMethods<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      if (Object.hasOwn(methods, name)) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function readByFrames(stream: Stream, memory: FrameMemory): Stream {
  const reader = new FrameReader(stream, memory, MAX_MESSAGE_BYTES);
  Object.defineProperty(stream, Symbol.asyncIterator, { value: () => reader.read() });
  return stream;
}

/** Ends the connection when a stream that was opened over it fails: the peer does not read, or has given the stream up. */
function endingWithItsStream(connection: Connection): Connection {
  const newStream: Connection["newStream"] = async (protocols, options) => {
    const stream = await connection.newStream(protocols, options);
    stream.addEventListener("close", ({ error }) => {
      if (error !== undefined && connection.status === "open") connection.abort(error);
    });
    return stream;
  };
  return withMethods(connection, { newStream });
}

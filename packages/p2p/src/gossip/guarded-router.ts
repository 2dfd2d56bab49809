import type { GossipSub, GossipSubComponents } from "@libp2p/gossipsub";
import type { RPC } from "@libp2p/gossipsub/message";
import type { PeerId, Stream } from "@libp2p/interface";
import { MAX_MESSAGE_BYTES } from "../wire/gossip-message.ts";
import { FrameMemory, FrameReader } from "./inbound-frames.ts";

/** What all peers together may have us hold. */
const MAX_HELD_BYTES = 128 * 1024 * 1024;

/** Decides over single messages of a peer. */
export interface MessageGate {
  /** @param judge lets the router have the message: decompression, validation, forwarding */
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

/** The node's components, with streams of which gossipsub reads whole frames, and no faster than it works on them. */
export function withBoundedStreams(components: GossipSubComponents): GossipSubComponents {
  const memory = new FrameMemory(MAX_HELD_BYTES);
  const { registrar } = components;
  const bounded: GossipSubComponents["registrar"] = new Proxy(registrar, {
    get(target, name) {
      if (name !== "handle") {
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      }
      const handle: typeof registrar.handle = (protocol, handler, options) =>
        target.handle(protocol, (stream, connection) => handler(readByFrames(stream, memory), connection), options);
      return handle;
    },
  });
  const { privateKey, peerId, peerStore, connectionManager, logger } = components;
  return { privateKey, peerId, peerStore, connectionManager, logger, registrar: bounded };
}

function readByFrames(stream: Stream, memory: FrameMemory): Stream {
  const reader = new FrameReader(stream, memory, MAX_MESSAGE_BYTES);
  Object.defineProperty(stream, Symbol.asyncIterator, { value: () => reader.read() });
  return stream;
}

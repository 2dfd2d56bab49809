import { randomBytes } from "node:crypto";
import type { HostilePeer } from "@rnode/p2p/testing";
import type { Attacker } from "../attacker/attacker.ts";
import type { Target } from "../attacker/target.ts";
import type { Attack, Prepared } from "./attack.ts";

/** On the verifier's rollup node, by peers that keep to no rule. Each comes back under another name when it is disconnected. */
const PEERS = 4;
/** A new peer is tried this often at most. */
const RECONNECT_MS = 250;

/** Loaded by these attacks only: libp2p takes half a second. */
const kit = () => import("@rnode/p2p/testing");

async function prepare(): Promise<Prepared> {
  await kit();
  return [];
}

/** Each of the peers repeats `work` while it is connected. */
async function withPeers(
  { p2p, l2ChainId }: Target,
  attacker: Attacker,
  work: (peer: HostilePeer, topic: string) => Promise<void>,
  readsMesh = true,
): Promise<void> {
  const { HostilePeer: Peer, newestBlockTopic } = await kit();
  const topic = newestBlockTopic(BigInt(l2ChainId));
  const lane = async (): Promise<void> => {
    while (!attacker.signal.aborted) {
      const peer = await Peer.start(readsMesh);
      try {
        await peer.connect(p2p);
        await peer.join([topic]);
        attacker.count("peers");
        while (!attacker.signal.aborted && peer.isConnected) await work(peer, topic);
      } catch {
        attacker.count("peers lost");
      }
      await peer.close();
      await attacker.pause(RECONNECT_MS);
    }
  };
  await Promise.all(Array.from({ length: PEERS }, lane));
}

/** Sends unsigned data at full speed. */
const gossiping = (name: string, what: string, message: () => Promise<Uint8Array>): Attack => ({
  name,
  what,
  bounds: { connections: PEERS },
  prepare,
  run: (target, attacker) =>
    withPeers(target, attacker, async (peer, topic) => {
      await peer.send(topic, await message());
      attacker.count("messages");
      await attacker.pause(0);
    }),
});

const compressed = async (bytes: Uint8Array): Promise<Uint8Array> => (await kit()).compressSnappyBlock(bytes);

export const p2pJunk = gossiping("p2p-junk", "4 peers gossip junk of 600 bytes", () => compressed(randomBytes(600)));
export const p2pLargeJunk = gossiping("p2p-large-junk", "4 peers gossip junk of 100 kB", () => compressed(randomBytes(100_000)));
/** All are different, so none is known. */
export const p2pBombs = gossiping("p2p-bombs", "4 peers gossip 10 MiB of zeros in half a megabyte", () => {
  const bomb = new Uint8Array(10 << 20);
  bomb.set(randomBytes(8));
  return compressed(bomb);
});

export const p2pRequests: Attack = {
  name: "p2p-requests",
  what: "4 peers ask for blocks, eight requests at a time each, without end",
  bounds: { connections: PEERS },
  prepare,
  async run(target, attacker) {
    const { encodeBlockRequest, blockRequestProtocol } = await kit();
    const protocol = blockRequestProtocol(BigInt(target.l2ChainId));
    await withPeers(target, attacker, async (peer) => {
      const asked = Array.from({ length: 8 }, () => peer.request(protocol, encodeBlockRequest(1 + attacker.random(1000))));
      attacker.count("requests", asked.length);
      await Promise.race([Promise.allSettled(asked), attacker.pause(5_000)]);
    });
  },
};

export const p2pSlowReaders: Attack = {
  name: "p2p-slow-readers",
  what: "4 peers ask for blocks and read neither the answers nor what is gossiped to them",
  bounds: { connections: PEERS },
  prepare,
  async run(target, attacker) {
    const { encodeBlockRequest, blockRequestProtocol } = await kit();
    const protocol = blockRequestProtocol(BigInt(target.l2ChainId));
    const ask = async (peer: HostilePeer): Promise<void> => {
      await peer.request(protocol, encodeBlockRequest(1 + attacker.random(1000)), { reads: false });
      attacker.count("requests");
      await attacker.pause(10);
    };
    await withPeers(target, attacker, ask, false);
  },
};

export const p2pConnections: Attack = {
  name: "p2p-connections",
  what: "connections to the P2P port that say nothing or nonsense, 200 at a time, again and again",
  bounds: { connections: 200 },
  run: ({ p2p }, attacker) =>
    attacker.onConnections(Number(/\/tcp\/(\d+)/.exec(p2p)![1]), 200, async (socket, lane) => {
      if (lane % 2 === 0) attacker.send(socket, randomBytes(64));
      await attacker.pause(200);
      socket.destroy();
    }),
};

import { silentLogger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope, RollupConfig } from "@rnode/protocol";
import { localSigner } from "@rnode/signer";
import { startNetwork } from "../host/start-network.ts";
import { type ConnectionLimits, connectionLimits, type P2PConfig, type P2PNetwork, type Published } from "../network.ts";
import { Counts } from "./counts.ts";
import { signatureOf } from "./test-blocks.ts";

const SEQUENCER_KEY = new Uint8Array(32).fill(0x5e);
/** Signs the blocks of these tests. */
export const SEQUENCER = localSigner(SEQUENCER_KEY);
export const SEQUENCER_KEY_HEX = bytesToHex(SEQUENCER_KEY);

export interface TestNodeOptions {
  readonly rollup: RollupConfig;
  /** 32 bytes; default: a new one */
  readonly networkKey?: Uint8Array;
  readonly staticPeers?: readonly string[];
  readonly discovery?: Partial<P2PConfig["discovery"]>;
  readonly peers?: Partial<P2PConfig["peers"]>;
  readonly limits?: Partial<ConnectionLimits>;
  readonly sync?: Partial<P2PConfig["sync"]>;
  /** whose blocks are accepted, 20 bytes; default: SEQUENCER's */
  readonly signer?: Uint8Array;
}

export interface Arrival {
  readonly envelope: ExecutionPayloadEnvelope;
  readonly from: string;
  /** of `performance.now` */
  readonly atMs: number;
}

/** A whole P2P network as the rollup node has it, in this thread, on loopback, and with blocks to serve. */
export class TestNode {
  readonly network: P2PNetwork;
  /** served blocks, by number */
  readonly blocks: Map<number, ExecutionPayloadEnvelope>;
  /** by block hash */
  readonly arrivals: ReadonlyMap<string, Arrival>;
  readonly counts: Counts;
  readonly #rollup: RollupConfig;
  readonly #waiting: Set<() => void>;

  private constructor(
    network: P2PNetwork,
    rollup: RollupConfig,
    state: Pick<TestNode, "blocks" | "arrivals"> & {
      readonly waiting: Set<() => void>;
      readonly counts: Counts;
    },
  ) {
    this.network = network;
    this.blocks = state.blocks;
    this.arrivals = state.arrivals;
    this.#rollup = rollup;
    this.#waiting = state.waiting;
    this.counts = state.counts;
  }

  static async start(options: TestNodeOptions): Promise<TestNode> {
    const blocks = new Map<number, ExecutionPayloadEnvelope>();
    const arrivals = new Map<string, Arrival>();
    const waiting = new Set<() => void>();
    const counts = new Counts();
    const network = await startNetwork(
      testConfig(options),
      {
        onUnsafePayload(envelope, from) {
          arrivals.set(bytesToHex(envelope.executionPayload.blockHash), { envelope, from, atMs: performance.now() });
          for (const wake of [...waiting]) wake();
        },
        payloadByNumber: (number) => Promise.resolve(blocks.get(number)),
      },
      { clock: systemClock, random: Math.random, log: silentLogger, metrics: counts.metrics },
    );
    network.setUnsafeBlockSigner(options.signer ?? SEQUENCER.address);
    return new TestNode(network, options.rollup, { blocks, arrivals, waiting, counts });
  }

  get peerId(): string {
    return this.network.identity.peerId;
  }

  get address(): string {
    return this.network.identity.addresses[0]!;
  }

  /** Connects, and waits until both have the subscriptions of all their peers to the block topics. */
  async connect(to: TestNode): Promise<void> {
    await this.network.api.connectPeer(to.address);
    await until("both to know the other's topics", async () => (await this.#knowsAll()) && (await to.#knowsAll()));
  }

  async #knowsAll(): Promise<boolean> {
    const { connected, blocksTopicV4 } = await this.network.api.peerStats();
    return connected > 0 && blocksTopicV4 === connected;
  }

  async publish(envelope: ExecutionPayloadEnvelope): Promise<Published> {
    return this.network.publish(envelope, await signatureOf(this.#rollup, envelope, SEQUENCER));
  }

  /** @param block or its hash @throws when the block does not come in time */
  async arrived(block: ExecutionPayloadEnvelope | string, timeoutMs = 10_000): Promise<Arrival> {
    const hash = typeof block === "string" ? block : bytesToHex(block.executionPayload.blockHash);
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const arrival = this.arrivals.get(hash);
        if (arrival === undefined) return;
        done();
        resolve(arrival);
      };
      const timer = setTimeout(() => {
        done();
        reject(new Error(`block ${hash} did not come within ${timeoutMs / 1000} s`));
      }, timeoutMs);
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(check);
      };
      this.#waiting.add(check);
      check();
    });
  }

  close(): Promise<void> {
    return this.network.close();
  }
}

function testConfig(options: TestNodeOptions): P2PConfig {
  return {
    rollup: options.rollup,
    networkKey: options.networkKey ?? crypto.getRandomValues(new Uint8Array(32)),
    listen: { ip: "127.0.0.1", tcpPort: 0, udpPort: 0 },
    advertise: {},
    nat: false,
    discovery: { enabled: false, bootnodes: [], ...options.discovery },
    staticPeers: options.staticPeers ?? [],
    netrestrict: [],
    peers: {
      low: 20,
      high: 30,
      graceMs: 30_000,
      scoring: "light",
      ban: { enabled: true, threshold: -100, durationMs: 3_600_000 },
      ...options.peers,
    },
    gossip: { timestampThresholdMs: 60_000 },
    sync: { requestResponse: true, onlyRequestToStatic: false, ...options.sync },
    userAgent: "rnode/test",
    // All nodes of a test have the same address.
    limits: { ...connectionLimits(30), maxOfAddress: 100, acceptsPerSecOfAddress: 1_000, ...options.limits },
  };
}

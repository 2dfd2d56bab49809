import type { Logger, MetricFactory } from "@rnode/observe";
import {
  type OpenNetworkDeps,
  openNetwork,
  type P2PConfig,
  type P2PHandlers,
  type P2PNetwork,
  P2PSettingError,
  type PeerApi,
  signBlock,
} from "@rnode/p2p";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { Scope } from "@rnode/program";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import type { Signer } from "@rnode/signer";
import type { BlockGossip, Published } from "./block-gossip.ts";
import { StartError } from "./start-error.ts";
import type { MissingBlocks } from "./unsafe-gap.ts";

export interface PeerNetworkOptions {
  readonly config: P2PConfig;
}

export interface PeerNetworkDeps {
  /** undefined: this node signs no blocks */
  readonly signer: Signer | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: MetricFactory;
  readonly threadMetrics: OpenNetworkDeps["threadMetrics"];
  /** for tests; default: `openNetwork` */
  readonly open?: ((config: P2PConfig, handlers: P2PHandlers, deps: OpenNetworkDeps) => Promise<P2PNetwork>) | undefined;
}

/** The P2P network as a part of the node: starts it, tells it who signs the chain's blocks, and signs what is published. */
export class PeerNetwork implements BlockGossip {
  /** Calls fail before `start`. */
  readonly api: PeerApi;
  private readonly options: PeerNetworkOptions;
  private readonly deps: PeerNetworkDeps;
  private network: P2PNetwork | undefined;

  constructor(options: PeerNetworkOptions, deps: PeerNetworkDeps) {
    this.options = options;
    this.deps = deps;
    this.api = lateApi(() => this.started.api);
  }

  /** Returns once the network runs. Blocks count once it knows who signs them. @throws {StartError} */
  async start(scope: Scope, handlers: P2PHandlers): Promise<void> {
    const { config } = this.options;
    const { open = openNetwork, log } = this.deps;
    const network = await scope.use(
      "P2P network",
      () => namingOptions(() => open(config, handlers, this.deps)),
      (opened) => opened.close(),
    );
    this.network = network;
    const { peerId, addresses, enr, reachabilityWarning } = network.identity;
    log.info("P2P network", { peerId, addresses: addresses.join(" "), ...(enr !== undefined && { enr }) });
    if (reachabilityWarning !== undefined) log.warn("other nodes may not reach this one", { reason: reachabilityWarning });
  }

  /** @param signer 20 bytes, all zero if blocks of nobody count */
  setUnsafeBlockSigner(signer: Uint8Array): void {
    this.started.setUnsafeBlockSigner(signer);
  }

  /**
   * A block that the network does not take is still a block of the chain: other nodes find it on L1.
   *
   * @throws Error there is no signer, or no peer would take the block
   */
  async publish(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<Published> {
    const { signer } = this.deps;
    const { config } = this.options;
    if (signer === undefined) {
      const { blockHash, blockNumber } = envelope.executionPayload;
      throw new Error(`node has no p2p signer, payload ${bytesToHex(blockHash)}:${blockNumber} cannot be published`);
    }
    const signature = await signBlock(config.rollup, envelope, signer);
    signal.throwIfAborted();
    await this.publishSigned(envelope, signature);
    return { kind: "published" };
  }

  /** Publishes a block with a signature that somebody has made. @throws Error no peer would take it */
  async publishSigned(envelope: ExecutionPayloadEnvelope, signature: Uint8Array): Promise<void> {
    const published = await this.started.publish(envelope, signature);
    if (published.kind === "refused") throw new Error(`no peer would take the block: ${published.reason}`);
  }

  requestGap(missing: MissingBlocks): void {
    this.network?.requestGap(missing);
  }

  private get started(): P2PNetwork {
    if (this.network === undefined) throw new Error("the P2P network is not running yet");
    return this.network;
  }
}

const lateApi = (api: () => PeerApi): PeerApi =>
  new Proxy({} as PeerApi, {
    get:
      (_, name) =>
      async (...args: unknown[]) =>
        (api()[name as keyof PeerApi] as (...args: unknown[]) => Promise<unknown>)(...args),
  });

/** Errors of settings name the option. */
async function namingOptions<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    if (!(cause instanceof P2PSettingError)) throw cause;
    throw new StartError("start/bad-config", `--p2p.${cause.setting}: ${cause.message}`, { cause });
  }
}

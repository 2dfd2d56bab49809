import type { Logger, MetricFactory } from "@rnode/observe";
import {
  BlockSigners,
  callPeerApi,
  forwardedPeerApi,
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
import { StartError } from "../common/start-error.ts";
import type { BlockGossip, Published, Signed } from "../sequencing/block-gossip.ts";
import type { MissingBlocks } from "../unsafe/unsafe-gap.ts";

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
  /** default: a thread for this network alone */
  readonly host?: OpenNetworkDeps["host"];
  /** for tests; default: `openNetwork` */
  readonly open?: ((config: P2PConfig, handlers: P2PHandlers, deps: OpenNetworkDeps) => Promise<P2PNetwork>) | undefined;
}

const NOT_RUNNING = "the P2P network is not running yet";

/** The P2P network as a part of the node: starts it, tells it who signs the chain's blocks, and signs what is published. */
export class PeerNetwork implements BlockGossip {
  /** Calls fail before `start`. */
  readonly api: PeerApi;
  private readonly options: PeerNetworkOptions;
  private readonly deps: PeerNetworkDeps;
  private network: P2PNetwork | undefined;
  /** as peers know them */
  private readonly signers: BlockSigners;

  constructor(options: PeerNetworkOptions, deps: PeerNetworkDeps) {
    this.options = options;
    this.deps = deps;
    this.signers = new BlockSigners(deps.clock);
    this.api = forwardedPeerApi((call) =>
      this.network === undefined ? Promise.reject(new Error(NOT_RUNNING)) : callPeerApi(this.network.api, call),
    );
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
    const { log } = this.deps;
    this.signers.rotate(signer);
    const mismatch = this.signerMismatch();
    if (mismatch !== undefined) log.error("blocks of this node are not published", { reason: mismatch });
    else if (this.checkOurs() === "former") {
      log.warn("L1 names another signer of blocks: replace the key of this node soon, peers accept its blocks for 3 h at most", {
        signer: bytesToHex(signer),
      });
    }
    this.started.setUnsafeBlockSigner(signer);
  }

  /** A signature of another address than the one that L1 names is not asked for: no peer would take it. @throws {SignerError} */
  async sign(envelope: ExecutionPayloadEnvelope, signal: AbortSignal): Promise<Signed> {
    const { signer } = this.deps;
    if (signer === undefined) {
      const { blockHash, blockNumber } = envelope.executionPayload;
      const payload = `${bytesToHex(blockHash)}:${blockNumber}`;
      return { kind: "unsigned", reason: `node has no p2p signer, payload ${payload} cannot be published` };
    }
    const mismatch = this.signerMismatch();
    if (mismatch !== undefined) return { kind: "unsigned", reason: mismatch };
    return { kind: "signed", signature: await signBlock(this.options.config.rollup, envelope, signer, signal) };
  }

  /**
   * A block that the network does not take is still a block of the chain: other nodes find it on L1.
   *
   * @throws Error there is no signature, or no peer would take the block
   */
  async publish(envelope: ExecutionPayloadEnvelope, signal: AbortSignal, signed: Signed): Promise<Published> {
    if (signed.kind === "unsigned") throw new Error(signed.reason);
    signal.throwIfAborted();
    await this.publishSigned(envelope, signed.signature);
    return { kind: "published" };
  }

  private checkOurs(): ReturnType<BlockSigners["check"]> | undefined {
    const { signer } = this.deps;
    return signer && this.signers.check(signer.address);
  }

  private signerMismatch(): string | undefined {
    const { signers, deps } = this;
    if (deps.signer === undefined || this.checkOurs() !== "other") return undefined;
    return (
      `L1 names ${bytesToHex(signers.current)} as the signer of blocks, but this node signs as ${bytesToHex(deps.signer.address)}: ` +
      "is --signer.address or --p2p.sequencer.key right?"
    );
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
    if (this.network === undefined) throw new Error(NOT_RUNNING);
    return this.network;
  }
}

/** Errors of settings name the option. */
async function namingOptions<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (cause) {
    if (!(cause instanceof P2PSettingError)) throw cause;
    throw new StartError("start/bad-config", `--p2p.${cause.setting}: ${cause.message}`, { cause });
  }
}

import {
  BatchSubmitter,
  batcherBlock,
  channelConfigs,
  createBatcherMetrics,
  createChannelOut,
  rbatcherOptions,
} from "@rnode/batcher";
import { awaitedChannel } from "@rnode/batcher/testing";
import type { ChannelOut } from "@rnode/compression";
import { VerifiedPayload } from "@rnode/engine-client";
import { testBlob } from "@rnode/kzg/testing";
import { L1AccountClient, L1Client, L1Endpoints } from "@rnode/l1";
import { noMetrics } from "@rnode/observe";
import { parseOptions } from "@rnode/options";
import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import type { SimClock } from "@rnode/program/testing";
import { encodeBlob, type RollupConfig } from "@rnode/protocol";
import { syncStatusFromJson } from "@rnode/rollup-client";
import { localSigner } from "@rnode/signer";
import { type BlobProver, createTxMetrics, TransactionManager } from "@rnode/tx-manager";
import type { L1Server } from "./l1-rpc.ts";
import { healthyServer, Link, type ServerState } from "./link.ts";
import type { Random } from "./random.ts";
import type { SimDa } from "./sim-da.ts";
import type { SimL1 } from "./sim-l1.ts";
import type { SimLog } from "./sim-log.ts";
import type { SimNode } from "./sim-node.ts";
import { SimProcess } from "./sim-process.ts";

export interface SimBatcherOptions {
  readonly key: Uint8Array;
  readonly maxLatencyMs: number;
  /** options of rbatcher */
  readonly args: readonly string[];
  /** data goes into blobs as soon as derivation reads them */
  readonly usesBlobs: boolean;
  /** whether commitments are real */
  readonly hasCommitments: boolean;
}

export interface SimBatcherDeps {
  readonly config: RollupConfig;
  readonly clock: SimClock;
  readonly random: Random;
  readonly l1: SimL1;
  readonly l1Server: L1Server;
  /** the node whose blocks it submits */
  readonly sequencer: Pick<SimNode, "engine" | "syncStatus">;
  readonly log: SimLog;
  /** whether data in blobs would be read now */
  readonly areBlobsRead: () => boolean;
  readonly onChannel: (id: Hex) => void;
  /** undefined: data goes to L1 */
  readonly da: SimDa | undefined;
}

const TIMEOUT_MS = 5_000;

/** The batch submitter as it is, on a simulated network. */
export class SimBatcher {
  readonly l1State: ServerState;
  readonly nodeState: ServerState;
  readonly #options: SimBatcherOptions;
  readonly #deps: SimBatcherDeps;
  #process: SimProcess | undefined;
  #channels = 0;

  constructor(options: SimBatcherOptions, deps: SimBatcherDeps) {
    this.#options = options;
    this.#deps = deps;
    this.l1State = healthyServer(options.maxLatencyMs);
    this.nodeState = healthyServer(options.maxLatencyMs);
  }

  get process(): SimProcess | undefined {
    return this.#process;
  }

  kill(): void {
    this.#process?.kill();
    this.#process = undefined;
  }

  start(): void {
    const { config, clock, random, l1, l1Server, sequencer, log } = this.#deps;
    const process = new SimProcess("batcher", clock);
    this.#process = process;
    const logger = log.loggerOf("batcher");
    const parsed = parseOptions(
      rbatcherOptions,
      [
        "--l1-eth-rpc=http://l1.invalid",
        "--l2-eth-rpc=http://l2.invalid",
        "--rollup-rpc=http://node.invalid",
        `--private-key=${bytesToHex(this.#options.key)}`,
        ...this.#options.args,
      ],
      {},
    );
    if (parsed.kind !== "options") throw new Error(JSON.stringify(parsed));
    const { batches, transactions } = parsed.options;
    const link = (name: string, state: ServerState, handle: (method: string, params: readonly unknown[]) => unknown): Link =>
      new Link({ name, process, clock, random, state, timeoutMs: TIMEOUT_MS, handle });
    const l1Link = link("l1", this.l1State, (method, params) =>
      l1Server(method, params, l1.head.ref.number - this.l1State.lagBlocks),
    );
    const nodeLink = link("node", this.nodeState, () => sequencer.syncStatus());
    const engineLink = link("l2", this.nodeState, (_, [first, count]) => {
      const payloads = [];
      for (let number = first as number; number < (first as number) + (count as number); number++) {
        const payload = sequencer.engine.canonicalPayload(number);
        if (payload === undefined) break;
        payloads.push(payload);
      }
      return payloads;
    });
    const l1Deps = { clock: process.clock, log: logger.child({ part: "l1" }) };
    const endpoints = new L1Endpoints(
      { chainId: config.l1ChainId, maxAttempts: 1 },
      { endpoints: [{ name: "l1", rpc: l1Link }], ...l1Deps },
    );
    const l1Client = new L1Client({ trustRpc: false, rpcKind: "standard", cacheSize: 64 }, { endpoints, ...l1Deps });
    const access = new L1AccountClient({ endpoints, l1: l1Client });
    const manager = new TransactionManager(transactions, {
      l1ChainId: config.l1ChainId,
      l1: access,
      signer: localSigner(this.#options.key),
      prover: proverOf(this.#options.hasCommitments),
      clock: process.clock,
      log: logger,
      metrics: createTxMetrics(noMetrics),
    });
    const channels = channelConfigs(batches, config, Math.floor(clock.unixMs() / 1000));
    const submitter = new BatchSubmitter(batches, {
      channels,
      batchInboxAddress: config.batchInboxAddress,
      stuckAfterMs: 2 * transactions.resubmissionTimeoutMs,
      l1: access,
      node: {
        syncStatus: async () => syncStatusFromJson(await nodeLink.call("rnode_syncStatus")),
        rollupConfig: () => Promise.resolve(config),
      },
      blocks: {
        chainId: () => Promise.resolve(config.l2ChainId),
        hashOf: (number) => Promise.resolve(sequencer.engine.canonicalRef(number)?.hash),
        blocks: async (first, count) => {
          const payloads = await engineLink.call<Parameters<typeof VerifiedPayload.check>[1][]>("blocks", [first, count]);
          return payloads.map((payload) => batcherBlock(VerifiedPayload.check("blocks", payload, config.forkTimes), config));
        },
      },
      transactions: {
        address: manager.address,
        send: (candidate, signal) => {
          const { carries } = candidate;
          const { da } = this.#deps;
          if (da !== undefined && carries.kind === "calldata") {
            return manager.send({ ...candidate, carries: { ...carries, data: da.put(carries.data) } }, signal);
          }
          const isBlob = carries.kind === "calldata" && this.#options.usesBlobs && this.#deps.areBlobsRead();
          return manager.send(
            isBlob ? { ...candidate, carries: { kind: "blobs", blobs: [encodeBlob(carries.data)] } } : candidate,
            signal,
          );
        },
      },
      minTipWei: transactions.minTipWei,
      createChannelOut: (channel) => this.#createChannelOut(channel, process),
      clock: process.clock,
      log: logger,
      metrics: createBatcherMetrics(noMetrics),
    });
    submitter.start();
  }

  #createChannelOut(config: Parameters<typeof createChannelOut>[0], process: SimProcess): ChannelOut {
    const id = keccak256(Uint8Array.of(0xc4, this.#channels >> 8, this.#channels++ & 0xff)).slice(0, 16);
    this.#deps.onChannel(bytesToHex(id));
    return awaitedChannel(createChannelOut(config, id), (work) => process.work(work));
  }
}

/** No node checks a proof that a transaction brings, and none checks commitments unless blobs come from beacon nodes. */
function proverOf(hasCommitments: boolean): BlobProver {
  const commitmentOf = (blob: Uint8Array): Uint8Array => {
    if (hasCommitments) return testBlob(blob).commitment;
    const commitment = new Uint8Array(48);
    commitment.set(keccak256(blob), 8);
    return commitment;
  };
  return {
    sidecar: (blobs) =>
      Promise.resolve({ version: 0, blobs, commitments: blobs.map(commitmentOf), proofs: blobs.map(() => new Uint8Array(48)) }),
  };
}

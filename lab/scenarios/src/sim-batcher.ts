import type { ChannelOut } from "@rnode/compression";
import { testBlob } from "@rnode/kzg/testing";
import { L1AccountClient, L1Client, L1Endpoints } from "@rnode/l1";
import { ActiveSequencer, checkPayload, syncStatusFromJson } from "@rnode/node-clients";
import { noMetrics } from "@rnode/observe";
import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { parseOptions } from "@rnode/program";
import { type SimClock, SimProcess } from "@rnode/program/testing";
import { encodeBlob, type RollupConfig } from "@rnode/protocol";
import {
  BatchSubmitter,
  batcherBlock,
  channelConfigs,
  createBatcherMetrics,
  createChannelOut,
  rbatcherOptions,
} from "@rnode/rbatcher";
import { awaitedChannel, SequencerEndpoints } from "@rnode/rbatcher/testing";
import { localSigner } from "@rnode/signer";
import { type BlobProver, createTxMetrics, TransactionManager } from "@rnode/tx-manager";
import type { L1Server } from "./l1-rpc.ts";
import { healthyServer, Link, type ServerState } from "./link.ts";
import type { Random } from "./random.ts";
import type { SimDa } from "./sim-da.ts";
import type { SimL1 } from "./sim-l1.ts";
import type { SimLog } from "./sim-log.ts";
import type { SimNode } from "./sim-node.ts";

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
  /** the nodes whose blocks it submits: those of the active one, if there are several */
  readonly sequencers: readonly SimNode[];
  readonly log: SimLog;
  /** whether data in blobs would be read now */
  readonly areBlobsRead: () => boolean;
  readonly onChannel: (id: Hex) => void;
  /** `undefined`: data goes to L1 */
  readonly da: SimDa | undefined;
}

const TIMEOUT_MS = 5_000;
/** Interval of the operator's checks of the batcher. */
const OPERATOR_MS = 20_000;

/** The real batch submitter, on a simulated network. */
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
    const { config, clock, random, l1, l1Server, log } = this.#deps;
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
    const l1Link = new Link({
      name: "l1",
      process,
      clock,
      random,
      state: this.l1State,
      timeoutMs: TIMEOUT_MS,
      handle: (method, params) => l1Server(method, params, l1.head.ref.number - this.l1State.lagBlocks),
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
    const sequencer = this.#sequencers(parsed.options.endpoints.activeSequencerCheckDurationMs, process);
    const channels = channelConfigs(batches, config, Math.floor(clock.unixMs() / 1000));
    const submitter = new BatchSubmitter(batches, {
      channels,
      batchInboxAddress: config.batchInboxAddress,
      stuckAfterMs: 2 * transactions.resubmissionTimeoutMs,
      l1: access,
      node: sequencer,
      blocks: sequencer,
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
    void this.#operate(submitter, process);
  }

  /** Applies the remedy of the error that stopped a batcher: another process used its key, and has exited. */
  async #operate(submitter: BatchSubmitter, process: SimProcess): Promise<void> {
    while (!process.isStopped) {
      await this.#deps.clock.sleep(OPERATOR_MS);
      if (process.isStopped || !submitter.start()) continue;
      this.#deps.log.note("batcher", "its operator starts it again");
    }
  }

  #sequencers(checkIntervalMs: number, process: SimProcess): SequencerEndpoints {
    const { config, clock, random, sequencers, log } = this.#deps;
    const nodes = sequencers.map((node) => {
      const link = (name: string, handle: (method: string, params: readonly unknown[]) => unknown): Link =>
        new Link({ name, process, clock, random, state: this.nodeState, timeoutMs: TIMEOUT_MS, handle });
      const nodeLink = link("node", (method) => {
        if (node.process?.isStopped !== false) throw new Error("no answer");
        return method === "admin_sequencerActive" ? node.admin!.isSequencerActive() : node.syncStatus();
      });
      const engineLink = link("l2", (_, [first, count]) => {
        const payloads = [];
        for (let number = first as number; number < (first as number) + (count as number); number++) {
          const payload = node.engine.canonicalPayload(number);
          if (payload === undefined) break;
          payloads.push(payload);
        }
        return payloads;
      });
      return {
        name: node.name,
        isSequencing: () => nodeLink.call<boolean>("admin_sequencerActive"),
        endpoint: {
          node: {
            syncStatus: async () => syncStatusFromJson(await nodeLink.call("rnode_syncStatus")),
            rollupConfig: () => Promise.resolve(config),
          },
          blocks: {
            chainId: () => Promise.resolve(config.l2ChainId),
            hashOf: (number: number) => Promise.resolve(node.engine.canonicalRef(number)?.hash),
            headNumber: () => Promise.resolve(node.engine.head.number),
            blocks: async (first: number, count: number) => {
              const payloads = await engineLink.call<Parameters<typeof checkPayload>[1][]>("blocks", [first, count]);
              return payloads.map((payload) => batcherBlock(checkPayload("blocks", payload, config.forkTimes), config));
            },
          },
        },
      };
    });
    const active = new ActiveSequencer({ checkIntervalMs }, nodes, {
      clock: process.clock,
      onChange: (name) => log.note("batcher", `follows ${name}`),
    });
    return new SequencerEndpoints(
      active,
      nodes.map(({ endpoint }) => endpoint),
    );
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

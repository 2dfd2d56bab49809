import { type RpcClient, RpcError } from "@rnode/jsonrpc";
import { L2Blocks, RpcRollupNode } from "@rnode/node-clients";
import { errorText } from "@rnode/observe";
import { parseQuantityNumber } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, envelopeToJson, type RollupConfig } from "@rnode/protocol";
import type { BlockName } from "../cluster/records.ts";
import type { HealthSample } from "../control/health-rules.ts";
import type { SequencerNode } from "./sequencer-api.ts";

const METHOD_NOT_FOUND = -32601;

export interface RpcSequencerOptions {
  readonly countsPeers: boolean;
  /** the endpoint and the method that give the number of the execution client's peers; undefined: not counted */
  readonly executionPeers?: { readonly rpc: RpcClient; readonly api: "net" | "admin" } | undefined;
}

export interface RpcSequencerDeps {
  readonly node: RpcClient;
  readonly engine: RpcClient;
  readonly config: RollupConfig;
}

/** A rollup node with the admin namespace, ours or upstream's, and its execution client. */
export class RpcSequencer implements SequencerNode {
  readonly #options: RpcSequencerOptions;
  readonly #node: RpcClient;
  readonly #engine: RpcClient;
  readonly #rollup: RpcRollupNode;
  readonly #blocks: L2Blocks;

  constructor(options: RpcSequencerOptions, { node, engine, config }: RpcSequencerDeps) {
    this.#options = options;
    this.#node = node;
    this.#engine = engine;
    this.#rollup = new RpcRollupNode(node);
    this.#blocks = new L2Blocks(engine, config);
  }

  async sample(): Promise<HealthSample & { readonly isActive: boolean | undefined }> {
    const { countsPeers, executionPeers: counted } = this.#options;
    const [sync, peers, executionPeers, engine, isActive] = await Promise.all([
      orError(async () => {
        const { unsafeL2, safeL2 } = await this.#rollup.syncStatus();
        return {
          unsafe: { number: unsafeL2.number, timestampSec: unsafeL2.timestamp },
          safe: { number: safeL2.number, timestampSec: safeL2.timestamp },
        };
      }),
      countsPeers ? orError(() => this.#peers()) : undefined,
      counted && orError(async () => ({ connected: await executionPeersOf(counted) })),
      orError(async () => ({ number: Number(await this.#engine.call<string>("eth_blockNumber")) })),
      this.#rollup.isSequencing().catch(() => undefined),
    ]);
    return { sync, peers, executionPeers, engine, isActive };
  }

  async unsafeHead(): Promise<BlockName> {
    const { number, hash } = (await this.#rollup.syncStatus()).unsafeL2;
    return { number, hash };
  }

  async start(hash: string): Promise<void> {
    await unlessSaid(/already (?:running|started)/, this.#node.call("admin_startSequencer", [hash]));
  }

  async stop(): Promise<void> {
    await unlessSaid(/not running|already stopped/, this.#node.call("admin_stopSequencer"));
  }

  async post(envelope: ExecutionPayloadEnvelope): Promise<void> {
    await this.#node.call("admin_postUnsafePayload", [envelopeToJson(envelope)]);
  }

  async replaceHead(envelope: ExecutionPayloadEnvelope): Promise<void> {
    await this.#node.call("admin_replaceUnsafePayload", [envelopeToJson(envelope)]);
  }

  async hashOf(number: number): Promise<string | undefined> {
    const asked = [`0x${number.toString(16)}`, false];
    const block = await this.#engine.call<{ readonly hash?: unknown } | null>("eth_getBlockByNumber", asked);
    return typeof block?.hash === "string" ? block.hash : undefined;
  }

  payloadAt(number: number): Promise<ExecutionPayloadEnvelope | undefined> {
    return this.#blocks.envelopeByNumber(number);
  }

  async hasL1Replaced({ number, hash }: BlockName): Promise<boolean | undefined> {
    try {
      const block = await this.#node.call<{ readonly hash?: unknown } | null>("admin_l1BlockRef", [`0x${number.toString(16)}`]);
      return typeof block?.hash === "string" ? block.hash !== hash : undefined;
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return undefined; // upstream's nodes have no such method
      throw error;
    }
  }

  /** Whether the node asks a conductor before it releases blocks; true if it is too old to say. */
  async asksConductor(): Promise<boolean> {
    try {
      return (await this.#node.call("admin_conductorEnabled")) === true;
    } catch (error) {
      if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return true;
      throw error;
    }
  }

  async #peers(): Promise<{ readonly connected: number }> {
    const stats = await this.#node.call<{ readonly connected?: unknown } | null>("opp2p_peerStats");
    return { connected: Number(stats?.connected ?? 0) };
  }
}

async function executionPeersOf({ rpc, api }: NonNullable<RpcSequencerOptions["executionPeers"]>): Promise<number> {
  if (api === "net") return parseQuantityNumber(String(await rpc.call("net_peerCount")));
  const peers = await rpc.call("admin_peers");
  if (!Array.isArray(peers)) throw new Error("admin_peers answered with no list");
  return peers.length;
}

async function orError<T>(ask: () => Promise<T>): Promise<T | { readonly error: string }> {
  try {
    return await ask();
  } catch (error) {
    return { error: errorText(error) };
  }
}

/** A refusal because things are as they should be is none. */
async function unlessSaid(words: RegExp, asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (error) {
    if (!(error instanceof RpcError && words.test(error.message))) throw error;
  }
}

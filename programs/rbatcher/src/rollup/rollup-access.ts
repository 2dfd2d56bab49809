import { type RpcClient, RpcError, saysBlockIsGone } from "@rnode/jsonrpc";
import type { SyncStatus } from "@rnode/node-clients";
import { payloadFromRpc, verifiedBlockHash } from "@rnode/node-clients";
import { type Hex, isCodedError, parseQuantity, toQuantity } from "@rnode/primitives";
import type { RollupConfig } from "@rnode/protocol";
import { BatcherError } from "../batcher-error.ts";
import { type BatcherBlock, batcherBlock } from "../channels/batcher-block.ts";

/**
 * The part of the rollup node's API that the batcher uses; `RpcRollupNode` implements it. Every method rejects if there is no
 * answer.
 */
export interface RollupNode {
  syncStatus(): Promise<SyncStatus>;
  rollupConfig(): Promise<RollupConfig>;
}

/** The part of the L2 execution client's API that the batcher uses. */
export interface BlockSource {
  chainId(): Promise<bigint>;
  /** undefined: the client does not have the block */
  hashOf(number: number): Promise<Hex | undefined>;
  /** Up to `count` canonical blocks from `first` on, in order; fewer if the chain ends before. */
  blocks(first: number, count: number): Promise<BatcherBlock[]>;
}

/** The blocks of an execution client, which says where its head is. */
export interface ClientBlocks extends BlockSource {
  headNumber(): Promise<number>;
}

export class RpcBlockSource implements ClientBlocks {
  readonly #rpc: RpcClient;
  readonly #rollup: RollupConfig;

  constructor(rpc: RpcClient, rollup: RollupConfig) {
    this.#rpc = rpc;
    this.#rollup = rollup;
  }

  async chainId(): Promise<bigint> {
    const answer = await this.#rpc.call("eth_chainId");
    return readAnswer("eth_chainId", () => parseQuantity(String(answer)));
  }

  async hashOf(number: number): Promise<Hex | undefined> {
    const method = "eth_getBlockByNumber";
    try {
      const answer = await this.#rpc.call(method, [toQuantity(number), false]);
      return answer === null ? undefined : verifiedBlockHash(method, answer, number);
    } catch (error) {
      if (error instanceof RpcError && saysBlockIsGone(error)) return undefined;
      throw error;
    }
  }

  async headNumber(): Promise<number> {
    const method = "eth_blockNumber";
    const answer = await this.#rpc.call(method, []);
    return readAnswer(method, () => Number(parseQuantity(String(answer))));
  }

  async blocks(first: number, count: number): Promise<BatcherBlock[]> {
    const method = "eth_getBlockByNumber";
    const calls = Array.from({ length: count }, (_, i) => ({ method, params: [toQuantity(first + i), true] }));
    const { forkTimes } = this.#rollup;
    const blocks: BatcherBlock[] = [];
    for (const outcome of await this.#rpc.batch(calls)) {
      if (outcome.kind === "error") throw outcome.error;
      if (outcome.result === null) break;
      const block = readAnswer(method, () => batcherBlock(payloadFromRpc(method, outcome.result, forkTimes), this.#rollup));
      const expected = first + blocks.length;
      if (block.ref.number !== expected) {
        throw new BatcherError("batcher/bad-answer", { method, reason: "another number", expected, got: block.ref.number });
      }
      blocks.push(block);
    }
    return blocks;
  }
}

/** @throws {BatcherError} batcher/bad-answer: whatever the parsers reject is the endpoint's fault */
function readAnswer<T>(method: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause) || cause instanceof BatcherError) throw cause;
    throw new BatcherError("batcher/bad-answer", { method, reason: cause.message }, { cause });
  }
}

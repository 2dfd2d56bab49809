import type { Hex } from "@rnode/primitives";
import { toQuantity } from "@rnode/primitives";
import { forkchoiceState, newPayloadParams, sequencerAttributes } from "../common/op-chain.ts";
import type { Rengine } from "../common/rengine.ts";

const BLOCK_TIME_MS = 2_000;
/** Transactions come in this part of a block's time. */
const FEED_MS = 1_800;
const BATCH = 100;

export interface Payload {
  readonly blockHash: Hex;
  readonly gasUsed: Hex;
  readonly transactions: readonly Hex[];
}

/** One block of a run. */
export interface PacedBlock {
  readonly gas: number;
  readonly transactions: number;
  /** from the time at which the block was due until it was the head */
  readonly afterDueMs: number;
  /** since the block before was the head; undefined for the first one */
  readonly intervalMs: number | undefined;
}

/** Makes blocks on time, as a rollup node does: a build starts with its parent, and is sealed when it is due. */
export class PacedSequencer {
  readonly program: Rengine;
  readonly #gasLimit: bigint;
  #head: { readonly hash: Hex; readonly number: number };

  private constructor(program: Rengine, gasLimit: bigint, hash: Hex) {
    this.program = program;
    this.#gasLimit = gasLimit;
    this.#head = { hash, number: 0 };
  }

  static async of(program: Rengine, gasLimit: bigint): Promise<PacedSequencer> {
    const { hash } = await program.engine.call<{ hash: Hex }>("eth_getBlockByNumber", ["0x0", false]);
    return new PacedSequencer(program, gasLimit, hash);
  }

  /** @param feed the transactions that come during each block; the number of its elements is that of the blocks */
  async run(feed: readonly (readonly Hex[])[], onBlock?: (payload: Payload) => Promise<void>): Promise<PacedBlock[]> {
    const { engine } = this.program;
    const blocks: PacedBlock[] = [];
    const others: Promise<void>[] = [];
    let dueMs = 1_000 * Math.ceil(Date.now() / 1_000) + BLOCK_TIME_MS;
    let headMs: number | undefined;
    await until(dueMs - BLOCK_TIME_MS);
    for (const transactions of feed) {
      const attributes = {
        ...sequencerAttributes({ number: this.#head.number, timestampSec: 0 }, this.#gasLimit),
        timestamp: toQuantity(dueMs / 1_000),
      };
      const state = forkchoiceState(this.#head.hash);
      const { payloadId } = await engine.call<{ payloadId: Hex }>("engine_forkchoiceUpdatedV3", [state, attributes]);
      others.push(this.#feed(transactions, dueMs - BLOCK_TIME_MS));
      await until(dueMs);
      const { executionPayload: payload } = await engine.call<{ executionPayload: Payload }>("engine_getPayloadV4", [payloadId]);
      await follow(this.program, payload);
      const nowMs = Date.now();
      blocks.push({
        gas: Number(payload.gasUsed),
        transactions: payload.transactions.length,
        afterDueMs: nowMs - dueMs,
        intervalMs: headMs && nowMs - headMs,
      });
      if (onBlock !== undefined) others.push(onBlock(payload));
      this.#head = { hash: payload.blockHash, number: this.#head.number + 1 };
      headMs = nowMs;
      dueMs += BLOCK_TIME_MS;
    }
    await Promise.all(others);
    return blocks;
  }

  /** Submits transactions, at equal intervals from `startMs` on. */
  async #feed(transactions: readonly Hex[], startMs: number): Promise<void> {
    for (let at = 0; at < transactions.length; at += BATCH) {
      await until(startMs + (FEED_MS * at) / transactions.length);
      const batch = transactions.slice(at, at + BATCH);
      const response = await fetch(this.program.url, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(batch.map((raw, id) => ({ jsonrpc: "2.0", id, method: "eth_sendRawTransaction", params: [raw] }))),
      });
      const refused = ((await response.json()) as { error?: unknown }[]).find(({ error }) => error !== undefined);
      if (refused !== undefined) throw new Error(`transaction refused: ${JSON.stringify(refused.error)}`);
    }
  }
}

/** Makes a payload the head. */
export async function follow({ engine }: Rengine, payload: Payload): Promise<void> {
  const { status } = await engine.call<{ status: string }>("engine_newPayloadV4", newPayloadParams(payload));
  if (status !== "VALID") throw new Error(`newPayload: ${status}`);
  await engine.call("engine_forkchoiceUpdatedV3", [forkchoiceState(payload.blockHash), null]);
}

const until = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms - Date.now())));

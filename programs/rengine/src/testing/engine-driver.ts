import type { RpcClient } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, toQuantity, ZERO_HASH } from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";
import { attributesJson } from "./generated-blocks.ts";
import { GENESIS_TIME_SEC } from "./test-client.ts";

/** The chain that results from a fork choice. */
export interface Choice {
  /** canonical hashes by number; the last is the head */
  readonly chain: readonly Hex[];
  readonly safe: BlockId | undefined;
  readonly finalized: BlockId | undefined;
}

const ZERO = bytesToHex(ZERO_HASH);
const SAFE_DISTANCE = 4; // more than the number of blocks that are replaced
const FINALIZED_DISTANCE = 6;
/** How often some blocks are replaced, in blocks. */
const REORGANISATION_INTERVAL = 5;
const MAX_REORGANISATION_DEPTH = 3;

/**
 * Builds blocks over the Engine API as a rollup node does, sometimes on an ancestor of the head, and records the client's
 * promises: `acknowledged` is the last fork choice that was answered with VALID, `asked` a later one that was sent but not
 * answered.
 */
export class EngineDriver {
  readonly #engine: RpcClient;
  #seed: number;
  acknowledged: Choice;
  asked: Choice | undefined;
  /** number of acknowledged fork choices */
  acknowledgements = 0;
  /** number of times it started to build on an ancestor of the head */
  reorganisations = 0;

  /** @param seed seed of the first block; a driver that continues the chain must start at `nextSeed` */
  constructor(engine: RpcClient, start: Choice, seed: number) {
    this.#engine = engine;
    this.#seed = seed;
    this.acknowledged = start;
  }

  get nextSeed(): number {
    return this.#seed;
  }

  /** Makes one block: build, get, import, and make it the head. @throws on a wrong answer, or when the client is gone */
  async buildBlock(): Promise<void> {
    const parent = this.#chooseParent();
    const number = parent.chain.length - 1;
    const attributes = attributesJson(this.#seed++, GENESIS_TIME_SEC + 2 * number);
    const payloadId = await this.#choose(parent, attributes);
    const { executionPayload } = await this.#engine.call<{ executionPayload: { blockHash: Hex; blockNumber: Hex } }>(
      "engine_getPayloadV4",
      [payloadId],
    );
    if (executionPayload.blockNumber !== toQuantity(number + 1))
      throw new Error(`built ${executionPayload.blockNumber} on ${number}`);
    const { status } = await this.#engine.call<{ status: string }>("engine_newPayloadV4", [executionPayload, [], ZERO, []]);
    if (status !== "VALID") throw new Error(`newPayload: ${status}`);
    const chain = [...parent.chain, executionPayload.blockHash];
    const at = (place: number): BlockId => ({ number: place, hash: chain[place]! });
    const isSafeDue =
      chain.length > 2 * FINALIZED_DISTANCE && number % 3 === 0 && number - SAFE_DISTANCE > (parent.safe?.number ?? 0);
    const labels = isSafeDue ? { safe: at(number - SAFE_DISTANCE), finalized: at(number - FINALIZED_DISTANCE) } : parent;
    await this.#choose({ chain, safe: labels.safe, finalized: labels.finalized }, null);
  }

  #chooseParent(): Choice {
    const { chain, safe, finalized } = this.acknowledged;
    if (chain.length <= FINALIZED_DISTANCE || this.#seed % REORGANISATION_INTERVAL !== 0) return this.acknowledged;
    this.reorganisations++;
    return { chain: chain.slice(0, -1 - (this.#seed % MAX_REORGANISATION_DEPTH)), safe, finalized };
  }

  async #choose(choice: Choice, attributes: object | null): Promise<Hex | null> {
    this.asked = choice;
    const { payloadStatus, payloadId } = await this.#engine.call<{ payloadStatus: { status: string }; payloadId: Hex | null }>(
      "engine_forkchoiceUpdatedV3",
      [
        {
          headBlockHash: choice.chain.at(-1)!,
          safeBlockHash: choice.safe?.hash ?? ZERO,
          finalizedBlockHash: choice.finalized?.hash ?? ZERO,
        },
        attributes,
      ],
    );
    if (payloadStatus.status !== "VALID") throw new Error(`forkchoiceUpdated: ${JSON.stringify(payloadStatus)}`);
    this.acknowledged = choice;
    this.asked = undefined;
    this.acknowledgements++;
    return payloadId;
  }
}

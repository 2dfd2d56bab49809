import type { BuiltPayload, HeaderChoices } from "@rnode/chain";
import { bytesToHex, concatBytes, isCodedError, keccak256, uint64ToBytes } from "@rnode/primitives";
import { type BlockRules, blobBaseFee, blockRules, type Header, nextBaseFee, type PayloadAttributes } from "@rnode/protocol";
import type { Labels } from "@rnode/storage";
import { type BeaconChain, versionedHashesOf } from "./beacon/beacon-chain.ts";
import type { BlobStore } from "./beacon/blob-store.ts";
import type { ChainTime } from "./chain-time.ts";
import { DevError } from "./dev-error.ts";
import type { DevPool } from "./dev-pool.ts";
import type { EditableChain } from "./editable-chain.ts";
import { RollupAttributes } from "./rollup-attributes.ts";

export type DevChainAccess = Pick<
  EditableChain,
  "config" | "genesis" | "head" | "headerOf" | "bodyOf" | "stateAt" | "makeBlock" | "rewind" | "announceEdits" | "onHeadChange"
>;

export interface BlockMakerOptions {
  /** 20 bytes */
  readonly coinbase: Uint8Array;
  readonly gasLimit: bigint;
  /** blocks that the safe block is behind the latest; the finalized one is twice as far behind */
  readonly safeLag: number;
  /** how long blobs are kept */
  readonly blobRetentionSlots: number;
}

export interface BlockMakerDeps {
  readonly chain: DevChainAccess;
  readonly pool: DevPool;
  readonly time: ChainTime;
  readonly beacon: BeaconChain;
  readonly blobs: BlobStore;
  /** Wraps the creation of a block whose number and time are known; may prefetch the block's state. */
  readonly aroundBlock?: (<T>(position: NextBlock, make: () => T) => T) | undefined;
}

export interface NextBlock {
  readonly number: number;
  readonly timestampSec: number;
}

/** A value for the next blocks instead of the one that the rules give. */
interface Held {
  readonly wei: bigint;
  blocksLeft: number;
}

/** How far the labels are behind the latest block, in blocks; they stand still while finality is stalled. */
export interface FinalityLag {
  readonly safe: number;
  readonly finalized: number;
}

/** Makes blocks synchronously, one at a time, with the values set for them. */
export class BlockMaker {
  coinbase: Uint8Array;
  gasLimit: bigint;
  lag: FinalityLag;
  isFinalityStalled = false;
  /** of the next block; undefined: the default */
  prevRandao: Uint8Array | undefined;
  /** keeps blocks that replace others from being the same */
  branch = 0;
  readonly #options: BlockMakerOptions;
  readonly #deps: BlockMakerDeps;
  #baseFee: Held | undefined;
  #blobBaseFee: Held | undefined;
  /** on OP Stack chains only */
  readonly #rollup: RollupAttributes | undefined;

  constructor(options: BlockMakerOptions, deps: BlockMakerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.coinbase = options.coinbase;
    this.gasLimit = options.gasLimit;
    this.lag = { safe: options.safeLag, finalized: 2 * options.safeLag };
    this.#rollup = deps.chain.config.optimism === undefined ? undefined : new RollupAttributes(deps.chain);
  }

  get head(): { readonly header: Header; readonly hash: Uint8Array } {
    return this.#deps.chain.headerOf({ kind: "tag", tag: "latest" })!;
  }

  /** Base fee of the next block, wei. */
  get nextBaseFee(): bigint {
    const { header } = this.head;
    return this.#baseFee?.wei ?? nextBaseFee(this.#deps.chain.config, header, this.#deps.time.peek(header.timestamp));
  }

  /** The next blocks have this base fee; after them it moves by the rules again. */
  holdBaseFee(wei: bigint, blocks: number): void {
    this.#baseFee = blocks > 0 ? { wei, blocksLeft: blocks } : undefined;
  }

  /** The next blocks have at least this blob base fee; after them it moves by the rules again. */
  holdBlobBaseFee(wei: bigint, blocks: number): void {
    this.#blobBaseFee = blocks > 0 ? { wei, blocksLeft: blocks } : undefined;
  }

  /**
   * Makes the next block, with the pool's transactions, and makes it the head.
   *
   * @param isEmpty without transactions
   * @param timestampSec instead of the time that is its turn
   * @throws {DevError} dev/unbuildable
   */
  make({ isEmpty = false, timestampSec }: { readonly isEmpty?: boolean; readonly timestampSec?: number } = {}): BuiltPayload {
    const { chain, pool, time, blobs } = this.#deps;
    const { header, hash } = this.head;
    const timestamp = timestampSec ?? time.take(header.timestamp);
    const number = header.number + 1;
    const rules = blockRules(chain.config, { number, timestamp, isPostMerge: true });
    // On disk before the block that needs them.
    for (const { versionedHashes, sidecar } of pool.sidecars()) blobs.put(number, versionedHashes, sidecar);
    const build = (): BuiltPayload => {
      const attributes = this.#attributes(header, hash, timestamp, rules, isEmpty);
      return this.#build(attributes, this.#choices(rules), this.#labels(number));
    };
    const { aroundBlock } = this.#deps;
    const built = aroundBlock === undefined ? build() : aroundBlock({ number, timestampSec: timestamp }, build);
    blobs.putRequests(built.hash, built.requests);
    this.#useUp();
    if (this.lag.safe === 0) chain.rewind(number, this.#labels(number, built.hash));
    this.#removeOldBlobs(timestamp);
    return built;
  }

  /** Sets a missing label, on a young chain and after its block has left: it is as far behind the head as it may be. */
  fillLabels(): void {
    const { chain } = this.#deps;
    const { number } = chain.head();
    const labels: Labels = {};
    for (const label of ["safe", "finalized"] as const) {
      if (chain.headerOf({ kind: "tag", tag: label }) !== undefined) continue;
      const at = Math.max(chain.genesis.block.header.number, number - this.lag[label]);
      const { hash } = chain.headerOf({ kind: "number", number: at })!;
      labels[label] = { number: at, hash: bytesToHex(hash) };
    }
    if (Object.keys(labels).length > 0) chain.rewind(number, labels);
  }

  #build(attributes: PayloadAttributes, choices: HeaderChoices, labels: Labels): BuiltPayload {
    try {
      const built = this.#deps.chain.makeBlock(attributes, choices, labels);
      if (built.kind === "built") return built.payload;
      throw new DevError("dev/unbuildable", { reason: built.kind === "invalid-attributes" ? built.reason : built.kind });
    } catch (error) {
      if (!isCodedError(error, "chain/unbuildable")) throw error;
      throw new DevError("dev/unbuildable", { reason: String(error.data.reason) });
    }
  }

  #attributes(parent: Header, parentHash: Uint8Array, timestamp: number, rules: BlockRules, isEmpty: boolean): PayloadAttributes {
    return {
      timestamp,
      prevRandao: keccak256(concatBytes(parentHash, uint64ToBytes(parent.number + 1), uint64ToBytes(this.branch))),
      suggestedFeeRecipient: this.coinbase,
      gasLimit: this.gasLimit,
      noTxPool: isEmpty,
      ...(rules.hasWithdrawals && { withdrawals: [] }),
      ...(rules.hasBeaconRoot && { parentBeaconBlockRoot: this.#deps.beacon.rootOf(parentHash) }),
      ...this.#rollup?.after(parent, rules),
      ...(this.prevRandao !== undefined && { prevRandao: this.prevRandao }),
    };
  }

  #choices({ blobParams }: BlockRules): HeaderChoices {
    return {
      baseFeePerGas: this.#baseFee?.wei,
      ...(this.#blobBaseFee !== undefined &&
        blobParams !== undefined && { excessBlobGas: excessFor(this.#blobBaseFee.wei, blobParams.baseFeeUpdateFraction) }),
    };
  }

  #useUp(): void {
    this.prevRandao = undefined;
    if (this.#baseFee !== undefined && --this.#baseFee.blocksLeft <= 0) this.#baseFee = undefined;
    if (this.#blobBaseFee !== undefined && --this.#blobBaseFee.blocksLeft <= 0) this.#blobBaseFee = undefined;
  }

  /** Labels only move forward. @param ownHash of block `headNumber`, once it has one */
  #labels(headNumber: number, ownHash?: Uint8Array): Labels {
    const labels: Labels = {};
    if (this.isFinalityStalled) return labels;
    for (const label of ["safe", "finalized"] as const) {
      const number = Math.max(0, headNumber - this.lag[label]);
      const hash = number === headNumber ? ownHash : this.#deps.chain.headerOf({ kind: "number", number })?.hash;
      const current = this.#deps.chain.headerOf({ kind: "tag", tag: label })?.header.number ?? 0;
      if (hash !== undefined && number > current) labels[label] = { number, hash: bytesToHex(hash) };
    }
    return labels;
  }

  /** Blocks become old one after the other; a few are looked at with each new block. */
  #removeOldBlobs(nowSec: number): void {
    const { blobs, chain, time } = this.#deps;
    const oldest = time.slotOf(nowSec) - this.#options.blobRetentionSlots;
    for (let looked = 0; looked < 4; looked++) {
      const number = blobs.removedUpTo + 1;
      const found = chain.bodyOf({ kind: "number", number });
      if (found === undefined || time.slotOf(found.block.header.timestamp) >= oldest) return;
      blobs.removeOf(number, versionedHashesOf(found.block));
    }
  }
}

/** The smallest excess of blob gas at which blob gas costs at least `wei`. */
function excessFor(wei: bigint, updateFraction: bigint): bigint {
  let [low, high] = [0n, updateFraction];
  while (blobBaseFee(high, updateFraction) < wei) high *= 2n;
  while (low < high) {
    const middle = (low + high) / 2n;
    if (blobBaseFee(middle, updateFraction) >= wei) high = middle;
    else low = middle + 1n;
  }
  return low;
}

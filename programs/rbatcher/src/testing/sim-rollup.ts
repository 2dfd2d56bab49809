import { createDecompressor } from "@rnode/compression";
import type { SyncStatus } from "@rnode/node-clients";
import {
  bytesToHex,
  decodeRlpPrefix,
  equalBytes,
  expectRlpString,
  type Hex,
  hexToBytes,
  keccak256,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  type Batch,
  Channel,
  decodeBatch,
  decodeBatcherData,
  decodeBlob,
  encodeTransaction,
  expandSpanBatch,
  type Frame,
  type L1BlockRef,
  type L2BlockRef,
  type RollupConfig,
  rollupConfigFromJson,
  signTransaction,
} from "@rnode/protocol";
import { testRollupConfigJson } from "@rnode/protocol/testing";
import type { SimL1, SimL1Block } from "@rnode/tx-manager/testing";
import { type BatcherBlock, sizesOf } from "../channels/batcher-block.ts";
import type { BlockSource, RollupNode } from "../rollup/rollup-access.ts";

const L2_KEY = new Uint8Array(32).fill(0x22);
const CHANNEL_TIMEOUT = 50;

export function simRollupConfig(overrides: Readonly<Record<string, unknown>> = {}): RollupConfig {
  return rollupConfigFromJson(testRollupConfigJson(overrides));
}

/** The transactions of a block: `count`, each with `dataBytes` of incompressible data. */
export function simTransactions(seed: number, count: number, dataBytes: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => {
    const data = new Uint8Array(dataBytes);
    for (let at = 0; at < dataBytes; at += 32) {
      data.set(keccak256(uint64ToBytes(seed), uint64ToBytes(i), uint64ToBytes(at)).subarray(0, Math.min(32, dataBytes - at)), at);
    }
    return encodeTransaction(
      signTransaction(
        {
          type: 0x02,
          chainId: 901n,
          nonce: BigInt(seed * 1000 + i),
          maxPriorityFeePerGas: 1n,
          maxFeePerGas: 2n,
          gasLimit: 21_000n,
          to: new Uint8Array(20).fill(7),
          value: 1n,
          data,
          accessList: [],
        },
        L2_KEY,
      ),
    );
  });
}

/** The node's state after an L1 block. */
export interface DerivedState {
  readonly safe: L2BlockRef;
  /** number of blocks in batches that were safe already */
  readonly repeated: number;
  /** number of blocks in batches that are not the next block */
  readonly unfit: number;
  readonly timedOut: number;
  /** frames of the current channel */
  readonly channel: readonly { readonly frame: Frame; readonly l1Block: number }[];
}

/**
 * A sequencer's chain, and a node that derives it from the batches on a `SimL1` by Holocene's rules. Each derived block must be the
 * next one of the chain; blocks that are not are counted.
 */
export class SimRollup implements RollupNode, BlockSource {
  readonly config: RollupConfig;
  readonly #l1: SimL1;
  readonly #genesis: L2BlockRef;
  /** unsafe blocks after the genesis */
  #chain: BatcherBlock[] = [];
  #salt = 0;
  #nextOrigin: number | undefined;
  readonly #derived: { readonly l1Hash: Hex; readonly chain: number; readonly state: DerivedState }[] = [];
  /** how many L1 blocks the node stays behind the head */
  lag = 0;
  isDown = false;
  /** how many L1 blocks the sequencer stays behind the head */
  l1Confs = 0;
  transactionsPerBlock = 1;
  dataBytes = 100;

  /** of the block with this number */
  transactionsOf = (number: number): Uint8Array[] => simTransactions(number, this.transactionsPerBlock, this.dataBytes);

  constructor(l1: SimL1, config: RollupConfig = simRollupConfig()) {
    this.#l1 = l1;
    this.config = config;
    const { l2, l2TimeSec } = config.genesis;
    const l1Origin = { hash: l1.blocks[0]!.ref.hash, number: 0 };
    this.#genesis = { ...l2, parentHash: `0x${"00".repeat(32)}`, timestamp: l2TimeSec, l1Origin, sequenceNumber: 0 };
  }

  get unsafeHead(): L2BlockRef {
    return this.#chain.at(-1)?.ref ?? this.#genesis;
  }

  /** Sequences blocks on the newest L1 origin. */
  produce(count = 1): void {
    for (let i = 0; i < count; i++) {
      const parent = this.unsafeHead;
      const number = parent.number + 1;
      const originNumber = this.#nextOrigin ?? parent.l1Origin.number + 1;
      const nextOrigin = originNumber + this.l1Confs > this.#l1.headNumber ? undefined : this.#l1.blocks[originNumber]?.ref;
      this.#nextOrigin = undefined;
      const l1Origin: Pick<L1BlockRef, "hash" | "number"> = nextOrigin ?? parent.l1Origin;
      const sequenceNumber = nextOrigin === undefined ? parent.sequenceNumber + 1 : 0;
      const hash = bytesToHex(keccak256(uint64ToBytes(number), uint64ToBytes(this.#salt)));
      const timestamp = parent.timestamp + this.config.blockTimeSec;
      const transactions = this.transactionsOf(number);
      this.#chain.push({
        ref: {
          hash,
          number,
          parentHash: parent.hash,
          timestamp,
          l1Origin: { hash: l1Origin.hash, number: l1Origin.number },
          sequenceNumber,
        },
        input: {
          timestampSec: timestamp,
          parentHash: hexToBytes(parent.hash),
          epochNumber: l1Origin.number,
          epochHash: hexToBytes(l1Origin.hash),
          sequenceNumber,
          transactions,
        },
        ...sizesOf(transactions),
      });
    }
  }

  /** The next block is on this L1 origin, as after a reset of the rollup node. */
  skipOrigins(number: number): void {
    this.#nextOrigin = number;
  }

  /** Discards the newest `depth` unsafe blocks; blocks produced afterwards have other hashes. */
  reorgUnsafe(depth: number): void {
    this.#chain = this.#chain.slice(0, this.#chain.length - depth);
    this.#salt++;
  }

  /** The state derived from L1 up to a block. */
  derive(l1Number: number): DerivedState {
    // PERF: states are cached by L1 block, as the node is asked repeatedly.
    while (this.#derived.length > 0) {
      const { l1Hash, chain } = this.#derived.at(-1)!;
      if (
        this.#derived.length - 1 <= l1Number &&
        this.#l1.blocks[this.#derived.length - 1]?.ref.hash === l1Hash &&
        chain === this.#salt
      )
        break;
      this.#derived.pop();
    }
    while (this.#derived.length <= l1Number) {
      const block = this.#l1.blocks[this.#derived.length]!;
      const before = this.#derived.at(-1)?.state ?? { safe: this.#genesis, repeated: 0, unfit: 0, timedOut: 0, channel: [] };
      this.#derived.push({ l1Hash: block.ref.hash, chain: this.#salt, state: this.#deriveBlock(before, block) });
    }
    return this.#derived[l1Number]!.state;
  }

  #deriveBlock(before: DerivedState, { ref, transactions }: SimL1Block): DerivedState {
    let { safe, repeated, unfit, timedOut } = before;
    let frames = [...before.channel];
    for (const frame of transactions
      .filter(({ to }) => isInbox(to, this.config))
      .flatMap((tx) => this.#dataOf(tx))
      .flatMap((data) => decodeBatcherData(data))) {
      if (frame.number === 0) frames = [];
      if (frames[0] !== undefined && frames[0].l1Block + CHANNEL_TIMEOUT < ref.number) {
        timedOut++;
        frames = [];
      }
      // Holocene: in order, without gaps, and only of the newest channel
      if (frame.number !== frames.length) continue;
      if (frames[0] !== undefined && bytesToHex(frames[0].frame.channelId) !== bytesToHex(frame.channelId)) continue;
      frames.push({ frame, l1Block: ref.number });
      if (!frame.isLast) continue;
      const channel = new Channel(frame.channelId, ref.number, true);
      for (const part of frames) channel.add(part.frame);
      for (const block of batchesOf(channel.content()).flatMap((batch) => this.#blocksOf(batch))) {
        const next = this.#chain[safe.number];
        if (next !== undefined && block.timestamp === next.ref.timestamp && isSame(block.transactions, next.input.transactions))
          safe = next.ref;
        else if (block.timestamp <= safe.timestamp) repeated++;
        else unfit++;
      }
      frames = [];
    }
    return { safe, repeated, unfit, timedOut, channel: frames };
  }

  #dataOf(tx: SimL1Block["transactions"][number]): readonly Uint8Array[] {
    if (tx.type !== 0x03) return [tx.data];
    return tx.blobVersionedHashes.map((hash) => decodeBlob(this.#l1.blobs.get(bytesToHex(hash))!));
  }

  #blocksOf(batch: Batch): { timestamp: number; transactions: readonly Uint8Array[] }[] {
    if (batch.kind === "singular") return [{ timestamp: Number(batch.timestamp), transactions: batch.transactions }];
    const { genesis, blockTimeSec, l2ChainId } = this.config;
    return [...expandSpanBatch(batch, { genesisTimeSec: genesis.l2TimeSec, blockTimeSec, chainId: l2ChainId }).blocks()];
  }

  syncStatus(): Promise<SyncStatus> {
    if (this.isDown) return Promise.reject(new Error("the node is away"));
    const head = this.#l1.headNumber;
    const current = Math.max(0, head - this.lag);
    return Promise.resolve({
      headL1: this.#l1.blocks[head]!.ref,
      currentL1: this.#l1.blocks[current]!.ref,
      unsafeL2: this.unsafeHead,
      safeL2: this.derive(current).safe,
      finalizedL2: this.#genesis,
    });
  }
  rollupConfig(): Promise<RollupConfig> {
    return Promise.resolve(this.config);
  }
  chainId(): Promise<bigint> {
    return Promise.resolve(this.config.l2ChainId);
  }
  hashOf(number: number): Promise<Hex | undefined> {
    return Promise.resolve(number === 0 ? this.#genesis.hash : this.#chain[number - 1]?.ref.hash);
  }
  blocks(first: number, count: number): Promise<BatcherBlock[]> {
    if (this.isDown) return Promise.reject(new Error("the execution client is away"));
    return Promise.resolve(this.#chain.slice(first - 1, first - 1 + count));
  }
}

const isInbox = (to: Uint8Array | undefined, { batchInboxAddress }: RollupConfig): boolean =>
  to !== undefined && bytesToHex(to) === bytesToHex(batchInboxAddress);

function isSame(a: readonly Uint8Array[], b: readonly Uint8Array[]): boolean {
  return a.length === b.length && a.every((bytes, i) => equalBytes(bytes, b[i]!));
}

function batchesOf(content: Uint8Array): Batch[] {
  const isBrotli = content[0] === 1;
  const { bytes } = createDecompressor().decompress(
    isBrotli ? "brotli" : "zlib",
    isBrotli ? content.subarray(1) : content,
    100_000_000,
  );
  const batches: Batch[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { item, end } = decodeRlpPrefix(bytes, at);
    batches.push(decodeBatch(expectRlpString(item)));
    at = end;
  }
  return batches;
}

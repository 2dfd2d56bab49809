import {
  type ChannelOutOptions,
  type CompressionAlgorithm,
  createSingularChannelOut,
  createSpanChannelOut,
} from "@rnode/compression";
import type { DerivationConfig, L1BlockHeader } from "@rnode/derivation";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  type Hex,
  hexToBytes,
  privateKeyToAddress,
  ZERO_HASH,
} from "@rnode/primitives";
import {
  batchInputFromPayload,
  encodeBatcherData,
  encodeReceipt,
  encodeTransaction,
  type FeeMarketTransaction,
  forksUpTo,
  type Header,
  hashHeader,
  type Receipt,
  type RollupConfig,
  rollupConfigFromJson,
  rollupConfigToJson,
  signTransaction,
} from "@rnode/protocol";
import { testRollupConfig, testSystemConfig } from "@rnode/protocol/testing";
import { orderedTrieRoot } from "@rnode/trie";

/** A block of the L1 that only publishes batches. */
export interface L1Block {
  readonly hash: Hex;
  readonly header: Header;
  readonly transactions: readonly FeeMarketTransaction[];
  readonly receipts: readonly Receipt[];
}

const L1_CHAIN_ID = 900n;
export const L2_CHAIN_ID = 901;
export const L2_BLOCK_TIME_SEC = 2;
export const L1_BLOCK_TIME_SEC = 12;
const GENESIS_TIME_SEC = 1_700_000_000;
const GAS_LIMIT = 60_000_000n;
const MAX_FRAME_BYTES = 120_000;
export const SENDERS = 500;
const BATCHER_KEY = new Uint8Array(32).fill(0xb1);
const INBOX = new Uint8Array(20).fill(0xff);
export const L1_BLOB_SCHEDULE: DerivationConfig["l1BlobSchedule"] = [
  { timeSec: 0, baseFeeUpdateFraction: 3_338_477n },
  { timeSec: 0, baseFeeUpdateFraction: 5_007_716n },
];

const filled = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte);

export function rollupConfig(genesisHash: Uint8Array, l1Genesis: L1Block): RollupConfig {
  const config = testRollupConfig({
    genesis: {
      l1: { hash: l1Genesis.hash, number: 0 },
      l2: { hash: bytesToHex(genesisHash), number: 0 },
      l2TimeSec: GENESIS_TIME_SEC,
      systemConfig: testSystemConfig({
        batcherAddress: privateKeyToAddress(BATCHER_KEY),
        scalar: filled(32, 0).fill(1, 0, 1),
        gasLimit: GAS_LIMIT,
      }),
    },
    blockTimeSec: L2_BLOCK_TIME_SEC,
    seqWindowSize: 3600,
    channelTimeoutL1Blocks: 300,
    l1ChainId: L1_CHAIN_ID,
    l2ChainId: BigInt(L2_CHAIN_ID),
    forkTimes: forksUpTo("jovian"),
    batchInboxAddress: INBOX,
    depositContractAddress: filled(20, 0xdd),
    l1SystemConfigAddress: filled(20, 0xcc),
  });
  return rollupConfigFromJson(rollupConfigToJson(config));
}

export interface BatchForm {
  readonly batches: "span" | "singular";
  readonly algorithm: CompressionAlgorithm;
}

/** The blocks in one channel, as calldata of one transaction for each frame. */
export async function batchesOf(
  rollup: RollupConfig,
  payloads: readonly Parameters<typeof batchInputFromPayload>[1][],
  { batches, algorithm }: BatchForm,
): Promise<Uint8Array[]> {
  const options: ChannelOutOptions = {
    id: payloads[0]!.blockHash.slice(-16),
    algorithm,
    targetOutputBytes: 100_000_000,
    chain: {
      genesisTimeSec: rollup.genesis.l2TimeSec,
      blockTimeSec: rollup.blockTimeSec,
      chainId: rollup.l2ChainId,
      forkTimes: rollup.forkTimes,
    },
  };
  const channel =
    batches === "span"
      ? createSpanChannelOut(options)
      : createSingularChannelOut({ ...options, strategy: { kind: "ratio", approxComprRatio: 1 } });
  for (const payload of payloads) {
    if (!(await channel.addBlock(batchInputFromPayload(rollup, payload)))) throw new Error(`the channel is full: ${channel.full}`);
  }
  await channel.close();
  const frames: Uint8Array[] = [];
  for (let isLast = false; !isLast; ) {
    const frame = channel.nextFrame(MAX_FRAME_BYTES);
    ({ isLast } = frame);
    frames.push(encodeBatcherData([frame]));
  }
  return frames;
}

/** Mines L1 blocks with the batcher's transactions. */
export class L1Builder {
  readonly blocks: L1Block[] = [];
  batchBytes = 0;
  #nonce = 0n;

  constructor() {
    this.mine([]);
  }

  get head(): L1Block {
    return this.blocks.at(-1)!;
  }

  byHash(hash: Hex): L1BlockHeader | undefined {
    const found = this.blocks.find((block) => block.hash === hash);
    return found && headerOf(found);
  }

  mine(data: readonly Uint8Array[]): void {
    const transactions = data.map((bytes) => {
      this.batchBytes += bytes.length;
      return signTransaction<FeeMarketTransaction>(
        {
          type: 0x02,
          chainId: L1_CHAIN_ID,
          nonce: this.#nonce++,
          maxPriorityFeePerGas: 1n,
          maxFeePerGas: 10n,
          gasLimit: 5_000_000n,
          to: INBOX,
          value: 0n,
          data: bytes,
          accessList: [],
        },
        BATCHER_KEY,
      );
    });
    const receipts = transactions.map(
      (_, index): Receipt => ({
        type: 2,
        status: 1,
        cumulativeGasUsed: 1_000_000n * BigInt(index + 1),
        bloom: new Uint8Array(256),
        logs: [],
      }),
    );
    const number = this.blocks.length;
    const header: Header = {
      parentHash: number === 0 ? ZERO_HASH : hexToBytes(this.head.hash),
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: filled(20, 0x44),
      stateRoot: filled(32, 0x02),
      transactionsRoot: orderedTrieRoot(transactions.map((transaction) => encodeTransaction(transaction))),
      receiptsRoot: orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt))),
      logsBloom: new Uint8Array(256),
      difficulty: 0n,
      number,
      gasLimit: 60_000_000n,
      gasUsed: 1_000_000n * BigInt(transactions.length),
      timestamp: GENESIS_TIME_SEC + number * L1_BLOCK_TIME_SEC,
      extraData: new Uint8Array(),
      mixHash: filled(32, number % 251),
      nonce: new Uint8Array(8),
      baseFeePerGas: 7n,
      withdrawalsRoot: EMPTY_TRIE_ROOT,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: filled(32, 0x04),
      requestsHash: EMPTY_REQUESTS_HASH,
    };
    this.blocks.push({ hash: bytesToHex(hashHeader(header)), header, transactions, receipts });
  }
}

export const headerOf = ({ hash, header }: L1Block): L1BlockHeader => ({
  hash,
  number: header.number,
  parentHash: bytesToHex(header.parentHash),
  timestamp: header.timestamp,
  baseFeePerGas: header.baseFeePerGas!,
  mixHash: header.mixHash,
  parentBeaconBlockRoot: header.parentBeaconBlockRoot,
  excessBlobGas: header.excessBlobGas,
});

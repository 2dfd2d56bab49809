import { bytesToHex } from "@rnode/primitives";
import {
  type ExecutionPayload,
  type ExecutionPayloadEnvelope,
  forksUpTo,
  type OpFork,
  payloadHash,
  type RollupConfig,
} from "@rnode/protocol";
import { testRollupConfig } from "@rnode/protocol/testing";
import { BLOCK_DOMAIN, type Signer } from "@rnode/signer";
import { orderedTrieRoot } from "@rnode/trie";
import { encodeEnvelope } from "../wire/envelope.ts";
import { bodyHash, encodeSignature } from "../wire/gossip-message.ts";
import { type PayloadVersion, payloadVersionAt } from "../wire/payload-ssz.ts";
import type { GoBlock } from "./go-peer.ts";

const NEWEST_FORK: Readonly<Record<PayloadVersion, OpFork>> = { 1: "bedrock", 2: "canyon", 3: "holocene", 4: "jovian" };

/** A chain whose blocks all have this version; block 0 is at `genesisSec`. */
export function rollupOf(version: PayloadVersion, genesisSec: number): RollupConfig {
  const config = testRollupConfig({ forkTimes: forksUpTo(NEWEST_FORK[version]) });
  return { ...config, genesis: { ...config.genesis, l2TimeSec: genesisSec } };
}

export interface TestBlockFields {
  readonly number: number;
  readonly timestampSec: number;
  readonly parentHash?: Uint8Array;
  readonly transactions?: readonly Uint8Array[];
  /** distinguishes blocks of the same height */
  readonly salt?: number;
}

/** A block with a valid hash, whose other fields all differ from zero; it cannot be executed. */
export function testBlock(rollup: RollupConfig, fields: TestBlockFields): ExecutionPayloadEnvelope {
  const { number, timestampSec } = fields;
  const version = payloadVersionAt(rollup.forkTimes, timestampSec);
  const filled = (bytes: number, value: number): Uint8Array => new Uint8Array(bytes).fill(value);
  const executionPayload: ExecutionPayload = {
    parentHash: fields.parentHash ?? filled(32, 1),
    feeRecipient: filled(20, 2),
    stateRoot: filled(32, 3),
    receiptsRoot: filled(32, 4),
    logsBloom: Uint8Array.from({ length: 256 }, (_, index) => index),
    prevRandao: filled(32, (fields.salt ?? 0) + 5),
    blockNumber: number,
    gasLimit: 30_000_001n,
    gasUsed: 21_007n,
    timestamp: timestampSec,
    extraData: filled(version === 4 ? 17 : 9, 6),
    baseFeePerGas: 0x0102030405060708090an,
    blockHash: filled(32, 0),
    transactions: fields.transactions ?? [],
    withdrawals: version >= 2 ? [] : undefined,
    blobGasUsed: version >= 3 ? (version === 4 ? 40_009n : 0n) : undefined,
    excessBlobGas: version >= 3 ? 0n : undefined,
    withdrawalsRoot: version === 4 ? filled(32, 7) : undefined,
  };
  return sealed(rollup, { executionPayload, ...(version >= 3 && { parentBeaconBlockRoot: filled(32, 8) }) });
}

/** With the block hash that its contents have. */
export function sealed(rollup: RollupConfig, envelope: ExecutionPayloadEnvelope): ExecutionPayloadEnvelope {
  const blockHash = payloadHash(rollup.forkTimes, envelope, orderedTrieRoot);
  return { ...envelope, executionPayload: { ...envelope.executionPayload, blockHash } };
}

/** Blocks from `first` on, each the parent of the next, at the times that the chain gives them. */
export function testChain(rollup: RollupConfig, first: number, count: number): readonly ExecutionPayloadEnvelope[] {
  const blocks: ExecutionPayloadEnvelope[] = [];
  for (let number = first; number < first + count; number++) {
    const timestampSec = rollup.genesis.l2TimeSec + (number - rollup.genesis.l2.number) * rollup.blockTimeSec;
    const parentHash = blocks.at(-1)?.executionPayload.blockHash;
    blocks.push(testBlock(rollup, { number, timestampSec, ...(parentHash && { parentHash }) }));
  }
  return blocks;
}

/** r ‖ s ‖ y parity, as the sequencer gives it to the network. */
export async function signatureOf(rollup: RollupConfig, envelope: ExecutionPayloadEnvelope, signer: Signer): Promise<Uint8Array> {
  const version = payloadVersionAt(rollup.forkTimes, envelope.executionPayload.timestamp);
  const signed = await signer.signBlock({
    domain: BLOCK_DOMAIN,
    chainId: rollup.l2ChainId,
    payloadHash: bodyHash(encodeEnvelope(envelope, version)),
  });
  return encodeSignature(signed);
}

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;
const ZERO_HASH = `0x${"00".repeat(32)}`;

/** In the words of the Go program. */
export function goBlockOf(envelope: ExecutionPayloadEnvelope, version: PayloadVersion): GoBlock {
  const { executionPayload: payload, parentBeaconBlockRoot } = envelope;
  return {
    version,
    parentBeaconBlockRoot: parentBeaconBlockRoot === undefined ? ZERO_HASH : bytesToHex(parentBeaconBlockRoot),
    parentHash: bytesToHex(payload.parentHash),
    feeRecipient: bytesToHex(payload.feeRecipient),
    stateRoot: bytesToHex(payload.stateRoot),
    receiptsRoot: bytesToHex(payload.receiptsRoot),
    logsBloom: bytesToHex(payload.logsBloom),
    prevRandao: bytesToHex(payload.prevRandao),
    blockNumber: quantity(payload.blockNumber),
    gasLimit: quantity(payload.gasLimit),
    gasUsed: quantity(payload.gasUsed),
    timestamp: quantity(payload.timestamp),
    extraData: bytesToHex(payload.extraData),
    baseFeePerGas: quantity(payload.baseFeePerGas),
    blockHash: bytesToHex(payload.blockHash),
    transactions: payload.transactions.map((transaction) => bytesToHex(transaction)),
    blobGasUsed: quantity(payload.blobGasUsed ?? 0n),
    excessBlobGas: quantity(payload.excessBlobGas ?? 0n),
    withdrawalsRoot: payload.withdrawalsRoot === undefined ? ZERO_HASH : bytesToHex(payload.withdrawalsRoot),
  };
}

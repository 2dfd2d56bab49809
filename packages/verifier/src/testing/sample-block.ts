import { deflateSync } from "node:zlib";
import { genesisBlock, newEngine } from "@rnode/chain";
import { attributesFor, build, devConfig, devGenesis, LOGGER, openDevChain, transaction } from "@rnode/chain/testing";
import { bytesToHex, type Hex, ZERO_HASH } from "@rnode/primitives";
import {
  attributesToJson,
  encodeBatcherData,
  encodeBlock,
  encodeChannelBatch,
  encodeHeader,
  encodeTransaction,
  OP_FORKS,
  rollupConfigOfNetwork,
  rollupConfigToJson,
} from "@rnode/protocol";

/** Block 1 of a development chain in all forms that the page takes. */
export interface SampleBlock {
  readonly hash: Hex;
  /** what `debug_executionWitness` and `debug_getRawBlock` give */
  readonly finished: { readonly chain: object; readonly block: Hex; readonly witness: object };
  /** the form of real blocks in the vectors */
  readonly built: object;
  /** the block's batch as calldata */
  readonly data: Hex;
  /** JSON of the rollup configuration */
  readonly rollup: string;
}

/** Those before the newest ones, which the development chain does not have. */
const FORKS = OP_FORKS.slice(0, OP_FORKS.indexOf("jovian") + 1);
const [, ...AFTER_FIRST] = FORKS;

const CHAIN = {
  chainId: 901,
  bedrockBlock: 0,
  ...Object.fromEntries(AFTER_FIRST.map((fork) => [`${fork}Time`, 0])),
  optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
};

/** @param compress default: zlib */
export async function sampleBlock(compress: (bytes: Uint8Array) => Uint8Array = deflateSync): Promise<SampleBlock> {
  const dev = openDevChain("jovian");
  const user = [0, 1].map((nonce) =>
    encodeTransaction(transaction(0, nonce, { to: LOGGER, value: 0n, data: new Uint8Array(32).fill(nonce + 1) })),
  );
  const attributes = attributesFor(dev, 1, { transactions: [...attributesFor(dev, 1).transactions!, ...user] });
  const { block, hash } = build(dev, 1, { transactions: attributes.transactions! });
  await dev.remove();
  const genesis = genesisBlock(devGenesis("jovian"), devConfig("jovian"));
  const parent = bytesToHex(encodeHeader(genesis.block.header));
  const witness = {
    state: genesis.nodes.map(({ rlp }) => bytesToHex(rlp!)),
    codes: genesis.changes.codes.map(({ code }) => bytesToHex(code)),
    keys: [],
    headers: [parent],
  };
  return {
    hash: bytesToHex(hash),
    finished: { chain: CHAIN, block: bytesToHex(encodeBlock(block)), witness },
    built: {
      chain: {
        chainId: 901,
        eip1559: { elasticity: 6, denominator: 50, denominatorCanyon: 250 },
        forkTimes: Object.fromEntries(FORKS.map((fork) => [fork, 0])),
      },
      parentHeaderRlp: parent,
      payloadAttributes: attributesToJson(attributes),
      witness,
      expectedBlockHash: bytesToHex(hash),
    },
    data: bytesToHex(batchData(block.header.timestamp, user, compress)),
    rollup: rollupJson(genesis.block.header.timestamp, genesis.hash),
  };
}

function batchData(
  timestamp: number,
  transactions: readonly Uint8Array[],
  compress: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  const batch = encodeChannelBatch({
    kind: "singular",
    parentHash: ZERO_HASH,
    epochNumber: 1n,
    epochHash: new Uint8Array(32).fill(1),
    timestamp: BigInt(timestamp),
    transactions: [...transactions],
  });
  const channelId = new Uint8Array(16).fill(7);
  return encodeBatcherData([{ channelId, number: 0, data: new Uint8Array(compress(batch)), isLast: true }]);
}

function rollupJson(l2Time: number, genesisHash: Uint8Array): string {
  const config = rollupConfigOfNetwork("op-sepolia");
  const genesis = { ...config.genesis, l2TimeSec: l2Time, l2: { number: 0, hash: bytesToHex(genesisHash) } };
  const forkTimes = Object.fromEntries(AFTER_FIRST.map((fork) => [fork, 0]));
  return JSON.stringify(rollupConfigToJson({ ...config, genesis, forkTimes, l2ChainId: 901n }));
}

export const sampleEngine = newEngine;

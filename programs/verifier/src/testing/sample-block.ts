import { deflateSync } from "node:zlib";
import { genesisBlock, newEngine } from "@rnode/chain";
import { receiptsRoot } from "@rnode/chain/stateless";
import { ACCOUNTS, attributesFor, build, devConfig, devGenesis, LOGGER, openDevChain, transaction } from "@rnode/chain/testing";
import { bytesToHex, concatBytes, type Hex, padBytesLeft, uint64ToBytes, ZERO_HASH } from "@rnode/primitives";
import {
  attributesToJson,
  depositsFromReceipts,
  encodeBatcherData,
  encodeBlock,
  encodeHeader,
  encodeTransaction,
  hashHeader,
  l1InfoDeposit,
  logsBloom,
  OP_FORKS,
  type Receipt,
  type RollupConfig,
  rollupConfigOfNetwork,
  rollupConfigToJson,
  TRANSACTION_DEPOSITED_TOPIC,
} from "@rnode/protocol";
import { headerJson, headerOf, singularBatch } from "@rnode/protocol/testing";

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
  /** the L1 block that it names, and its receipts, with a deposit that the block has */
  readonly origin: { readonly block: object; readonly receipts: readonly object[] };
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
  const genesis = genesisBlock(devGenesis("jovian"), devConfig("jovian"));
  const rollup = rollupOf(genesis.block.header.timestamp, genesis.hash);
  const { json: origin, header: l1Header, receipt } = l1Origin(rollup.depositContractAddress);
  const l1Hash = hashHeader(l1Header);
  const facts = { ...l1Header, hash: l1Hash, baseFeePerGas: l1Header.baseFeePerGas!, blobBaseFee: 1n };
  const info = l1InfoDeposit(rollup, facts, rollup.genesis.systemConfig, 0, attributesFor(dev, 1).timestamp);
  const users = depositsFromReceipts([receipt], rollup.depositContractAddress, l1Hash).deposits;
  const deposits = [info, ...users].map(encodeTransaction);
  const attributes = attributesFor(dev, 1, { transactions: [...deposits, ...user] });
  const { block, hash } = build(dev, 1, { transactions: attributes.transactions! });
  await dev.remove();
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
    rollup: JSON.stringify(rollupConfigToJson(rollup)),
    origin,
  };
}

function batchData(
  timestamp: number,
  transactions: readonly Uint8Array[],
  compress: (bytes: Uint8Array) => Uint8Array,
): Uint8Array {
  const epochHash = new Uint8Array(32).fill(1);
  const batch = singularBatch({ parentHash: ZERO_HASH, epochNumber: 1, epochHash, timestampSec: timestamp, transactions });
  const channelId = new Uint8Array(16).fill(7);
  return encodeBatcherData([{ channelId, number: 0, data: new Uint8Array(compress(batch)), isLast: true }]);
}

function rollupOf(l2Time: number, genesisHash: Uint8Array): RollupConfig {
  const config = rollupConfigOfNetwork("op-sepolia");
  const genesis = { ...config.genesis, l2TimeSec: l2Time, l2: { number: 0, hash: bytesToHex(genesisHash) } };
  const forkTimes = Object.fromEntries(AFTER_FIRST.map((fork) => [fork, 0]));
  return { ...config, genesis, forkTimes, l2ChainId: 901n };
}

/** An L1 block in which an account deposits five wei to itself. */
function l1Origin(portal: Uint8Array) {
  const word = (value: number): Uint8Array => padBytesLeft(uint64ToBytes(value), 32);
  const account = padBytesLeft(ACCOUNTS[1]!, 32);
  const opaque = concatBytes(word(5), word(5), uint64ToBytes(100_000), Uint8Array.of(0));
  const data = concatBytes(word(32), word(opaque.length), opaque, new Uint8Array(32 - (opaque.length % 32)));
  const log = { address: portal, topics: [TRANSACTION_DEPOSITED_TOPIC, account, account, ZERO_HASH], data };
  const receipt: Receipt = { type: 2, status: 1, cumulativeGasUsed: 90_000n, bloom: logsBloom([log]), logs: [log] };
  const header = headerOf({ number: 77, timestamp: 990, baseFeePerGas: 7n, receiptsRoot: receiptsRoot({ receipts: [receipt] }) });
  const hash = bytesToHex(hashHeader(header));
  const place = { blockHash: hash, blockNumber: "0x4d", transactionHash: bytesToHex(ZERO_HASH), transactionIndex: "0x0" };
  const logJson = {
    ...place,
    address: bytesToHex(portal),
    topics: log.topics.map(bytesToHex),
    data: bytesToHex(data),
    logIndex: "0x0",
  };
  const json = {
    block: { ...headerJson(header), hash },
    receipts: [
      {
        ...place,
        type: "0x2",
        status: "0x1",
        gasUsed: "0x15f90",
        cumulativeGasUsed: "0x15f90",
        logsBloom: bytesToHex(receipt.bloom),
        logs: [logJson],
      },
    ],
  };
  return { header, receipt, json };
}

export const sampleEngine = newEngine;

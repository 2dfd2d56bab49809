import { crc32 } from "node:zlib";
import { bytesToHex, hexToBytes, toQuantity, ZERO_ADDRESS } from "@rnode/primitives";
import {
  BEACON_ROOTS_ADDRESS,
  type BlockRules,
  blockRules,
  type ChainConfig,
  CONSOLIDATION_REQUESTS_ADDRESS,
  FIRST_BLOB_PARAMS,
  type Header,
  HISTORY_STORAGE_ADDRESS,
  WITHDRAWAL_REQUESTS_ADDRESS,
} from "@rnode/protocol";
import { requireHeader, rulesAt } from "../backend/backend.ts";
import type { JsonObject } from "../json/transaction-json.ts";
import { LATEST } from "../params/block-selector.ts";
import * as results from "../schemas/results.ts";
import { type ApiMethods, method } from "./method.ts";
import type { ReadServices } from "./services.ts";

/** Names from EIP-7910. */
const PRECOMPILES: readonly (readonly [name: string, address: number])[] = [
  ["ECREC", 0x01],
  ["SHA256", 0x02],
  ["RIPEMD160", 0x03],
  ["ID", 0x04],
  ["MODEXP", 0x05],
  ["BN254_ADD", 0x06],
  ["BN254_MUL", 0x07],
  ["BN254_PAIRING", 0x08],
  ["BLAKE2F", 0x09],
  ["KZG_POINT_EVALUATION", 0x0a],
  ["BLS12_G1ADD", 0x0b],
  ["BLS12_G1MSM", 0x0c],
  ["BLS12_G2ADD", 0x0d],
  ["BLS12_G2MSM", 0x0e],
  ["BLS12_PAIRING_CHECK", 0x0f],
  ["BLS12_MAP_FP_TO_G1", 0x10],
  ["BLS12_MAP_FP2_TO_G2", 0x11],
];
const P256 = ["P256VERIFY", 0x100] as const;
const MAINNET_DEPOSIT_CONTRACT = hexToBytes("0x00000000219ab540356cbb839cbe05303d7705fa");
const addressOf = (number: number): string => `0x${number.toString(16).padStart(40, "0")}`;

/** `eth_config` and `eth_capabilities`: the rules of this node's chain, and the history it keeps. */
export function ethConfigMethods({ backend, oldestProvableBlock, historyBlocks }: ReadServices): ApiMethods {
  const { chain, profile } = backend;
  const { configHasL1Rules: hasL1Rules } = profile;
  return {
    eth_config: method({
      runs: "reader",
      cost: "cheap",
      result: results.forkConfig,
      params: [],
      summary: "Rules of the chain now, at the next fork and at the last one that is scheduled (EIP-7910).",
      handler: () => {
        const { header } = requireHeader(backend, LATEST);
        const times = forkTimes(chain.config);
        const now = times.filter((time) => time <= header.timestamp).at(-1) ?? 0;
        const next = times.find((time) => time > header.timestamp);
        const last = next === undefined ? undefined : times.at(-1);
        const at = (time: number): JsonObject => forkConfig(chain.config, chain.genesis, header, time, hasL1Rules);
        const current = {
          ...at(now),
          ...(times.length === 0 && configOf(rulesAt(backend, header), chain.config.depositContractAddress, hasL1Rules)),
        };
        return { current, next: next === undefined ? null : at(next), last: last === undefined ? null : at(last) };
      },
    }),
    eth_capabilities: method({
      runs: "reader",
      cost: "cheap",
      result: results.capabilities,
      params: [],
      summary: "What of the chain can be asked for, and from which block on.",
      handler: () => {
        const { number, hash } = chain.head();
        const retained = backend.store.retainedHistory();
        const from = (block: number): JsonObject => ({ disabled: false, oldestBlock: toQuantity(block) });
        const first = chain.genesis.block.header.number;
        const window = historyBlocks !== undefined && { deleteStrategy: { type: "window", retentionBlocks: historyBlocks } };
        const receipts = { ...from(retained?.oldestReceipts ?? first), ...window };
        const provable = oldestProvableBlock();
        return {
          head: { number: toQuantity(number), hash },
          state: { ...from(retained?.oldestState ?? first), ...window },
          tx: receipts, // by hash
          logs: receipts,
          receipts,
          blocks: from(retained?.oldestBlock ?? first),
          stateproofs: provable === undefined ? { disabled: true } : { disabled: false, oldestBlock: toQuantity(provable) },
        };
      },
    }),
  };
}

const ascending = (values: Iterable<number | undefined>): number[] =>
  [...new Set([...values].filter((value) => value !== undefined))].sort((a, b) => a - b);

/** All timestamps at which rules change, seconds. */
function forkTimes({ evmForkTimes, blobSchedule, optimism }: ChainConfig): number[] {
  const blobTimes = optimism === undefined ? blobSchedule.map(({ timeSec }) => timeSec) : [];
  return ascending([...Object.values(evmForkTimes), ...blobTimes, ...Object.values(optimism?.forkTimes ?? {})]);
}

function forkConfig(
  config: ChainConfig,
  genesis: ReadServices["backend"]["chain"]["genesis"],
  head: Header,
  time: number,
  hasL1Rules: boolean,
): JsonObject {
  const isPostMerge = config.optimism !== undefined || head.difficulty === 0n;
  const rules = blockRules(config, { number: head.number + 1, timestamp: time, isPostMerge });
  return {
    activationTime: time,
    forkId: forkId(config, genesis, head.number, time),
    ...configOf(rules, config.depositContractAddress, hasL1Rules),
  };
}

/** @param hasL1Rules an OP Stack chain shows what Ethereum has at its fork */
function configOf(rules: BlockRules, depositContract: Uint8Array | undefined, hasL1Rules: boolean): JsonObject {
  const { chainId, op } = rules;
  const isRollup = op !== undefined;
  const blobParams = isRollup
    ? hasL1Rules && rules.hasBlobGas
      ? (rules.defaultBlobParams ?? FIRST_BLOB_PARAMS)
      : undefined
    : rules.blobParams;
  const precompiles = PRECOMPILES.filter(([, address]) => address <= rules.lastPrecompile);
  const names = precompiles.map(([name, address]) => [name, addressOf(address)]);
  if (rules.hasP256Precompile) names.push([P256[0], addressOf(P256[1])]);
  return {
    blobSchedule:
      blobParams !== undefined
        ? {
            baseFeeUpdateFraction: Number(blobParams.baseFeeUpdateFraction),
            max: blobParams.max,
            target: blobParams.target,
          }
        : null,
    chainId: toQuantity(chainId),
    precompiles: Object.fromEntries(names),
    systemContracts: {
      ...(rules.hasBeaconRoot && { BEACON_ROOTS_ADDRESS: bytesToHex(BEACON_ROOTS_ADDRESS) }),
      ...(rules.storesParentHash && { HISTORY_STORAGE_ADDRESS: bytesToHex(HISTORY_STORAGE_ADDRESS) }),
      ...(rules.hasExecutionRequests &&
        (!isRollup || hasL1Rules) && {
          CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS: bytesToHex(CONSOLIDATION_REQUESTS_ADDRESS),
          DEPOSIT_CONTRACT_ADDRESS: bytesToHex(depositContract ?? (isRollup ? MAINNET_DEPOSIT_CONTRACT : ZERO_ADDRESS)),
          WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS: bytesToHex(WITHDRAWAL_REQUESTS_ADDRESS),
        }),
    },
  };
}

/** CRC-32 of the genesis hash and the forks that have passed. Spec: EIP-2124, EIP-6122 */
function forkId(
  config: ChainConfig,
  { hash, block }: ReadServices["backend"]["chain"]["genesis"],
  head: number,
  time: number,
): string {
  const { forkBlocks, daoForkBlock, difficultyBombBlocks = {}, optimism } = config;
  const blocks = ascending([
    ...Object.values(forkBlocks),
    daoForkBlock,
    ...Object.values(difficultyBombBlocks),
    optimism?.bedrockBlock,
  ]).filter((number) => number > 0 && number <= head);
  const times = forkTimes(config).filter((at) => at > block.header.timestamp && at <= time);
  let sum = crc32(hash);
  const word = new Uint8Array(8);
  for (const passed of [...blocks, ...times]) {
    new DataView(word.buffer).setBigUint64(0, BigInt(passed));
    sum = crc32(word, sum);
  }
  return `0x${sum.toString(16).padStart(8, "0")}`;
}

import { bytesToHex, type Hex, isZeroBytes, ZERO_ADDRESS } from "@rnode/primitives";
import type { BlockId } from "../blocks/refs.ts";
import { checkForkSchedule } from "../forks/fork-schedule.ts";
import { derivationFactsAt, type ForkTimes } from "../forks/fork-times.ts";
import { forkFacts } from "../forks/op-forks.ts";
import {
  fieldKey,
  type JsonObject,
  type JsonParser,
  jsonAddress,
  jsonBoolean,
  jsonBytes,
  jsonError,
  jsonHash,
  jsonInteger,
  jsonObject,
  jsonOneOf,
  optionalField,
  refuseUnknownKeys,
  requiredField,
  withoutUndefined,
} from "../params/json-fields.ts";
import { ROLLUP_FORK_KEYS, readForkTimes } from "./fork-keys.ts";
import type { AltDaConfig, RollupConfig, SystemConfig } from "./rollup-config.ts";

/** Keys that kona writes: constants of the protocol, or unsupported parts. Accepted and ignored. */
const KONA_KEYS = ["granite_channel_timeout", "interop_message_expiry_window", "superchain_config_address", "da_challenge_address"];

const TOP_KEYS: ReadonlySet<string> = new Set([
  "genesis",
  "block_time",
  "max_sequencer_drift",
  "seq_window_size",
  "channel_timeout",
  "l1_chain_id",
  "l2_chain_id",
  ...ROLLUP_FORK_KEYS.flatMap(({ key, oldKey }) => (oldKey === undefined ? [key] : [key, oldKey])),
  "pectra_blob_schedule_time",
  "keep_karst_upgrade_gas",
  "lagoon_preliminary",
  "batch_inbox_address",
  "deposit_contract_address",
  "l1_system_config_address",
  "protocol_versions_address",
  "alt_da",
  "chain_op_config",
  ...KONA_KEYS,
]);
const GENESIS_KEYS: ReadonlySet<string> = new Set(["l1", "l2", "l2_time", "system_config"]);
const BLOCK_ID_KEYS: ReadonlySet<string> = new Set(["hash", "number"]);
const SYSTEM_CONFIG_KEYS: ReadonlySet<string> = new Set([
  "batcherAddr",
  "overhead",
  "scalar",
  "gasLimit",
  "eip1559Params",
  "operatorFeeParams",
  "minBaseFee",
  "daFootprintGasScalar",
]);
const ALT_DA_KEYS: ReadonlySet<string> = new Set([
  "da_challenge_contract_address",
  "da_commitment_type",
  "da_challenge_window",
  "da_resolve_window",
]);
const CHAIN_OP_KEYS: ReadonlySet<string> = new Set(["eip1559Elasticity", "eip1559Denominator", "eip1559DenominatorCanyon"]);

/** The values of the OP Stack's standard configuration, for files older than `chain_op_config`. */
const STANDARD_CHAIN_OP_CONFIG: RollupConfig["chainOpConfig"] = {
  eip1559Elasticity: 6,
  eip1559Denominator: 50,
  eip1559DenominatorCanyon: 250,
};

export interface RollupConfigParseOptions {
  /**
   * "refuse" (default); "ignore" for answers of a node of another version; or a function that gets the path of each unknown key,
   * in which case only an unknown fork (`*_time`) is refused
   */
  readonly unknownKeys?: "refuse" | "ignore" | ((key: string) => void);
}

/**
 * Parses and checks a rollup config (`rollup.json`, `rnode_rollupConfig`). Spec: docs/protocol/04-rpc.md#rollupconfig
 *
 * @throws {CodedError} json/invalid with `key` (path), `value` and `expected`
 */
export function rollupConfigFromJson(value: unknown, { unknownKeys = "refuse" }: RollupConfigParseOptions = {}): RollupConfig {
  const root = "rollup config";
  const object = jsonObject(value, root);
  const checkKeys = keyCheckOf(unknownKeys);
  if (unknownKeys !== "ignore") refuseUnknownForks(object);
  checkKeys(object, "", TOP_KEYS);
  const forkTimes = readForkTimes(object, "", ROLLUP_FORK_KEYS, jsonInteger);
  const config: RollupConfig = {
    genesis: requiredField(object, "", "genesis", (genesis, path) => parseGenesis(jsonObject(genesis, path), path, checkKeys)),
    blockTimeSec: requiredField(object, "", "block_time", jsonPositiveInteger),
    maxSequencerDriftSec: parseMaxSequencerDrift(object, forkTimes),
    seqWindowSize: requiredField(object, "", "seq_window_size", jsonSequencingWindow),
    channelTimeoutL1Blocks: requiredField(object, "", "channel_timeout", jsonPositiveInteger),
    l1ChainId: BigInt(requiredField(object, "", "l1_chain_id", jsonPositiveInteger)),
    l2ChainId: BigInt(requiredField(object, "", "l2_chain_id", jsonPositiveInteger)),
    forkTimes,
    pectraBlobScheduleTime: optionalField(object, "", "pectra_blob_schedule_time", jsonInteger),
    keepKarstUpgradeGas: optionalField(object, "", "keep_karst_upgrade_gas", jsonBoolean),
    lagoonPreliminary: optionalField(object, "", "lagoon_preliminary", jsonBoolean),
    batchInboxAddress: requiredField(object, "", "batch_inbox_address", jsonNonZeroAddress),
    depositContractAddress: requiredField(object, "", "deposit_contract_address", jsonNonZeroAddress),
    l1SystemConfigAddress: optionalField(object, "", "l1_system_config_address", jsonAddress) ?? ZERO_ADDRESS,
    protocolVersionsAddress: optionalField(object, "", "protocol_versions_address", jsonAddress) ?? ZERO_ADDRESS,
    altDa: optionalField(object, "", "alt_da", (altDa, path) => parseAltDa(jsonObject(altDa, path), path, checkKeys)),
    chainOpConfig:
      optionalField(object, "", "chain_op_config", (chainOp, path) => parseChainOp(jsonObject(chainOp, path), path, checkKeys)) ??
      STANDARD_CHAIN_OP_CONFIG,
  };
  const fault = checkForkSchedule(forkTimes, (fork) => forkFacts(fork).rollupKey, config.genesis.l2TimeSec);
  if (fault !== undefined) throw jsonError(fault.key, fault.timeSec, fault.expected);
  if (config.l1ChainId === config.l2ChainId) {
    throw jsonError("l2_chain_id", object.l2_chain_id, "a chain id other than l1_chain_id");
  }
  return config;
}

type KeyCheck = (object: JsonObject, path: string, known: ReadonlySet<string>) => void;

function keyCheckOf(unknownKeys: NonNullable<RollupConfigParseOptions["unknownKeys"]>): KeyCheck {
  if (unknownKeys === "refuse") return refuseUnknownKeys;
  if (unknownKeys === "ignore") return () => {};
  return (object, path, known) => {
    for (const name of Object.keys(object)) if (!known.has(name)) unknownKeys(fieldKey(path, name));
  };
}

/** A client cannot follow the chain without the rules of a scheduled fork. */
function refuseUnknownForks(object: JsonObject): void {
  for (const [name, time] of Object.entries(object)) {
    if (!name.endsWith("_time") || TOP_KEYS.has(name) || time === null) continue;
    throw jsonError(name, time, "a fork that this version knows: update it, or remove the key if the chain has no such fork");
  }
}

const jsonPositiveInteger: JsonParser<number> = (value, key) => {
  if (jsonIntegerOr(value, key, "an integer above 0") === 0) throw jsonError(key, value, "an integer above 0");
  return value as number;
};

const jsonSequencingWindow: JsonParser<number> = (value, key) => {
  const expected = "an integer, 2 L1 blocks or more";
  if (jsonIntegerOr(value, key, expected) < 2) throw jsonError(key, value, expected);
  return value as number;
};

function jsonIntegerOr(value: unknown, key: string, expected: string): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw jsonError(key, value, expected);
  return value;
}

function nonZero(parse: JsonParser<Uint8Array>, expected: string): JsonParser<Uint8Array> {
  return (value, key) => {
    const bytes = parse(value, key);
    if (isZeroBytes(bytes)) throw jsonError(key, value, expected);
    return bytes;
  };
}

const jsonNonZeroAddress = nonZero(jsonAddress, "an address that is not zero");
const jsonNonZeroHash = nonZero(jsonHash, "a hash that is not zero");
const jsonNonZeroWord = nonZero(jsonHash, "32 bytes that are not all zero");

function parseMaxSequencerDrift(object: JsonObject, forkTimes: RollupConfig["forkTimes"]): number {
  const isFixed = derivationFactsAt(forkTimes, 0).maxSequencerDriftSec !== undefined;
  if (isFixed) return optionalField(object, "", "max_sequencer_drift", jsonInteger) ?? 0;
  return requiredField(object, "", "max_sequencer_drift", jsonPositiveInteger);
}

function parseGenesis(object: JsonObject, path: string, checkKeys: KeyCheck): RollupConfig["genesis"] {
  checkKeys(object, path, GENESIS_KEYS);
  const parseId: JsonParser<BlockId> = (value, key) => parseBlockId(jsonObject(value, key), key, checkKeys);
  const l1 = requiredField(object, path, "l1", parseId);
  const l2 = requiredField(object, path, "l2", parseId);
  if (l1.hash === l2.hash) throw jsonError(`${path}.l2.hash`, l2.hash, "another hash than genesis.l1.hash");
  return {
    l1,
    l2,
    l2TimeSec: requiredField(object, path, "l2_time", jsonPositiveInteger),
    systemConfig: requiredField(object, path, "system_config", (value, key) =>
      parseSystemConfig(jsonObject(value, key), key, checkKeys),
    ),
  };
}

function parseBlockId(object: JsonObject, path: string, checkKeys: KeyCheck): BlockId {
  checkKeys(object, path, BLOCK_ID_KEYS);
  return {
    hash: bytesToHex(requiredField(object, path, "hash", jsonNonZeroHash)),
    number: requiredField(object, path, "number", jsonInteger),
  };
}

function parseSystemConfig(object: JsonObject, path: string, checkKeys: KeyCheck): SystemConfig {
  checkKeys(object, path, SYSTEM_CONFIG_KEYS);
  const operatorFee = optionalField(object, path, "operatorFeeParams", jsonHash) ?? new Uint8Array(32);
  const operatorFeeView = new DataView(operatorFee.buffer, operatorFee.byteOffset, operatorFee.byteLength);
  return {
    batcherAddress: requiredField(object, path, "batcherAddr", jsonNonZeroAddress),
    overhead: requiredField(object, path, "overhead", jsonHash),
    scalar: requiredField(object, path, "scalar", jsonNonZeroWord),
    gasLimit: BigInt(requiredField(object, path, "gasLimit", jsonPositiveInteger)),
    eip1559Params: optionalField(object, path, "eip1559Params", jsonBytes(8)) ?? new Uint8Array(8),
    operatorFeeScalar: operatorFeeView.getUint32(20),
    operatorFeeConstant: operatorFeeView.getBigUint64(24),
    minBaseFee: BigInt(optionalField(object, path, "minBaseFee", jsonInteger) ?? 0),
    daFootprintGasScalar: optionalField(object, path, "daFootprintGasScalar", jsonUint16) ?? 0,
  };
}

const jsonUint16: JsonParser<number> = (value, key) => {
  const expected = "an integer from 0 to 65535";
  if (jsonIntegerOr(value, key, expected) > 0xffff) throw jsonError(key, value, expected);
  return value as number;
};

function parseAltDa(object: JsonObject, path: string, checkKeys: KeyCheck): AltDaConfig {
  checkKeys(object, path, ALT_DA_KEYS);
  const daCommitmentType = requiredField(object, path, "da_commitment_type", jsonOneOf(["KeccakCommitment", "GenericCommitment"]));
  const given = optionalField(object, path, "da_challenge_contract_address", jsonAddress);
  const contract = given !== undefined && isZeroBytes(given) ? undefined : given;
  const key = fieldKey(path, "da_challenge_contract_address");
  if (daCommitmentType === "KeccakCommitment" && contract === undefined) {
    throw jsonError(key, object.da_challenge_contract_address, "an address that is not zero, as KeccakCommitment needs one");
  }
  if (daCommitmentType === "GenericCommitment" && contract !== undefined) {
    throw jsonError(key, object.da_challenge_contract_address, "the zero address, as GenericCommitment has no challenges");
  }
  return {
    daChallengeContractAddress: contract,
    daCommitmentType,
    daChallengeWindow: requiredField(object, path, "da_challenge_window", jsonPositiveInteger),
    daResolveWindow: requiredField(object, path, "da_resolve_window", jsonPositiveInteger),
  };
}

function parseChainOp(object: JsonObject, path: string, checkKeys: KeyCheck): RollupConfig["chainOpConfig"] {
  checkKeys(object, path, CHAIN_OP_KEYS);
  const eip1559Denominator = requiredField(object, path, "eip1559Denominator", jsonPositiveInteger);
  return {
    eip1559Elasticity: requiredField(object, path, "eip1559Elasticity", jsonPositiveInteger),
    eip1559Denominator,
    eip1559DenominatorCanyon: optionalField(object, path, "eip1559DenominatorCanyon", jsonPositiveInteger) ?? eip1559Denominator,
  };
}

/** The JSON of a rollup config, as in files and in the answer of `rnode_rollupConfig`. */
export type RollupConfigJson = Readonly<Record<string, unknown>>;

/** Fork times under the keys of a rollup configuration. */
export const rollupForkTimesToJson = (forkTimes: ForkTimes): RollupConfigJson =>
  Object.fromEntries(ROLLUP_FORK_KEYS.map(({ fork, key }) => [key, forkTimes[fork]]));

/** The inverse of `rollupConfigFromJson`. Unset forks and options are omitted. */
export function rollupConfigToJson(config: RollupConfig): RollupConfigJson {
  const { genesis, altDa } = config;
  return withoutUndefined({
    genesis: {
      l1: { hash: genesis.l1.hash, number: genesis.l1.number },
      l2: { hash: genesis.l2.hash, number: genesis.l2.number },
      l2_time: genesis.l2TimeSec,
      system_config: systemConfigToJson(genesis.systemConfig),
    },
    block_time: config.blockTimeSec,
    max_sequencer_drift: config.maxSequencerDriftSec === 0 ? undefined : config.maxSequencerDriftSec,
    seq_window_size: config.seqWindowSize,
    channel_timeout: config.channelTimeoutL1Blocks,
    l1_chain_id: Number(config.l1ChainId),
    l2_chain_id: Number(config.l2ChainId),
    ...rollupForkTimesToJson(config.forkTimes),
    pectra_blob_schedule_time: config.pectraBlobScheduleTime,
    keep_karst_upgrade_gas: config.keepKarstUpgradeGas,
    lagoon_preliminary: config.lagoonPreliminary,
    batch_inbox_address: bytesToHex(config.batchInboxAddress),
    deposit_contract_address: bytesToHex(config.depositContractAddress),
    l1_system_config_address: bytesToHex(config.l1SystemConfigAddress),
    protocol_versions_address: isZeroBytes(config.protocolVersionsAddress) ? undefined : bytesToHex(config.protocolVersionsAddress),
    alt_da: altDa && altDaToJson(altDa),
    chain_op_config: { ...config.chainOpConfig },
  });
}

export interface SystemConfigJson {
  readonly batcherAddr: Hex;
  readonly overhead: Hex;
  readonly scalar: Hex;
  readonly gasLimit: number;
  readonly eip1559Params: Hex;
  readonly operatorFeeParams: Hex;
  readonly minBaseFee: number;
  readonly daFootprintGasScalar: number;
}

export function systemConfigToJson(systemConfig: SystemConfig): SystemConfigJson {
  const operatorFee = new Uint8Array(32);
  const view = new DataView(operatorFee.buffer);
  view.setUint32(20, systemConfig.operatorFeeScalar);
  view.setBigUint64(24, systemConfig.operatorFeeConstant);
  return {
    batcherAddr: bytesToHex(systemConfig.batcherAddress),
    overhead: bytesToHex(systemConfig.overhead),
    scalar: bytesToHex(systemConfig.scalar),
    gasLimit: Number(systemConfig.gasLimit),
    eip1559Params: bytesToHex(systemConfig.eip1559Params),
    operatorFeeParams: bytesToHex(operatorFee),
    minBaseFee: Number(systemConfig.minBaseFee),
    daFootprintGasScalar: systemConfig.daFootprintGasScalar,
  };
}

function altDaToJson(altDa: AltDaConfig): JsonObject {
  return {
    da_challenge_contract_address: bytesToHex(altDa.daChallengeContractAddress ?? ZERO_ADDRESS),
    da_commitment_type: altDa.daCommitmentType,
    da_challenge_window: altDa.daChallengeWindow,
    da_resolve_window: altDa.daResolveWindow,
  };
}

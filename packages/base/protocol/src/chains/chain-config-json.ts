import { CodedError } from "@rnode/primitives";
import { EVM_FORKS, type EvmFork, evmForkFacts } from "../forks/evm-forks.ts";
import { checkForkSchedule } from "../forks/fork-schedule.ts";
import { evmForkTimesOf, type ForkTimes } from "../forks/fork-times.ts";
import { forkFacts, type OpFork } from "../forks/op-forks.ts";
import { EVM_FORK_BEARERS } from "../forks/rules.ts";
import type { BlobParams } from "../params/blob-params.ts";
import {
  FIELD_SENTENCE,
  fieldKey,
  type JsonObject,
  type JsonParser,
  jsonAddress,
  jsonBoolean,
  jsonError,
  jsonFlexibleBigint,
  jsonFlexibleNumber,
  jsonObject,
  optionalField,
  requiredField,
  withoutUndefined,
} from "../params/json-fields.ts";
import { BLOB_SCHEDULE_FORKS, type BlobScheduleFork, knownBlobParams } from "./blob-schedule.ts";
import type { ChainConfig } from "./chain-config.ts";
import { GENESIS_FORK_KEYS, GENESIS_TIME_NAMES, readForkTimes } from "./fork-keys.ts";

export type ChainConfigErrorCode = "chain-config/forks-out-of-order" | "chain-config/fork-times-differ";

type ActivationKeys = readonly (readonly [EvmFork, string])[];

const activationKeys = (by: "block" | "time"): ActivationKeys =>
  EVM_FORKS.flatMap((fork) => {
    const { activation } = evmForkFacts(fork);
    const key = (activation as { block?: string; time?: string } | undefined)?.[by];
    return key === undefined ? [] : [[fork, key] as const];
  });

const BLOCK_KEYS = activationKeys("block");
const TIME_KEYS = activationKeys("time");
const KNOWN_TIMES: ReadonlySet<string> = new Set([...TIME_KEYS.map(([, key]) => key), ...GENESIS_TIME_NAMES]);
/** Keys of times without effect on a rollup, because its blocks have no blobs. */
const BLOB_TIME = /^bpo\d+Time$/;
const ACTIVATION = /(Time|Block)$/;

/**
 * Parses the `config` of a Geth genesis file; unknown keys are ignored, as in every client, except those of a rollup's forks (`*Time`).
 * Spec: docs/protocol/01-execution.md#chain-configuration-of-the-execution-client
 *
 * @param genesisTimeSec time of the genesis block, if it is known
 * @throws {CodedError} json/invalid, chain-config/*
 */
export function parseChainConfig(value: unknown, path = "config", genesisTimeSec?: number): ChainConfig {
  const object = jsonObject(value, path);
  assertActivations(object, path);
  const forkBlocks = readForks(object, path, BLOCK_KEYS);
  const ethereumTimes = readForks(object, path, TIME_KEYS);
  const optimism = optionalField(object, path, "optimism", (inner, key) =>
    parseOptimism(object, path, jsonObject(inner, key), key, genesisTimeSec),
  );
  const terminalTotalDifficulty = optionalField(object, path, "terminalTotalDifficulty", jsonFlexibleBigint);
  assertInOrder(path, BLOCK_KEYS, forkBlocks);
  assertInOrder(path, TIME_KEYS, ethereumTimes);
  const evmForkTimes = optimism === undefined ? ethereumTimes : coupledTimes(path, ethereumTimes, optimism.forkTimes);
  return {
    chainId: requiredField(object, path, "chainId", jsonFlexibleBigint),
    forkBlocks,
    evmForkTimes,
    terminalTotalDifficulty: optimism === undefined ? terminalTotalDifficulty : 0n,
    daoForkBlock: optionalField(object, path, "daoForkBlock", jsonFlexibleNumber),
    daoForkSupport: optionalField(object, path, "daoForkSupport", jsonBoolean),
    difficultyBombBlocks: {
      muirGlacier: optionalField(object, path, "muirGlacierBlock", jsonFlexibleNumber),
      arrowGlacier: optionalField(object, path, "arrowGlacierBlock", jsonFlexibleNumber),
      grayGlacier: optionalField(object, path, "grayGlacierBlock", jsonFlexibleNumber),
    },
    blobSchedule: optimism === undefined ? parseBlobSchedule(object, path) : [],
    depositContractAddress: optionalField(object, path, "depositContractAddress", jsonAddress),
    optimism,
  };
}

function readForks(object: JsonObject, path: string, keys: ActivationKeys): Partial<Record<EvmFork, number>> {
  const forks: Partial<Record<EvmFork, number>> = {};
  for (const [fork, key] of keys) {
    const activation = optionalField(object, path, key, jsonActivation);
    if (activation !== undefined) forks[fork] = activation;
  }
  return forks;
}

/** Some files write "never" as the largest uint64. It is stored as the largest safe number, which is beyond any block. */
const jsonActivation: JsonParser<number> = (value, key) => {
  const activation = jsonFlexibleBigint(value, key);
  if (activation >> 64n !== 0n) throw jsonError(key, value, "a block number or a time of at most 64 bits");
  return activation > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(activation);
};

/**
 * Checks forks that the chain does not have or that do not affect execution as well, because a wrong value is a mistake in the
 * file.
 */
function assertActivations(object: JsonObject, path: string): void {
  for (const name of Object.keys(object)) if (ACTIVATION.test(name)) optionalField(object, path, name, jsonActivation);
}

/** A missing fork is valid, because the next one implies it. A fork that activates before an earlier one is not. */
function assertInOrder(path: string, keys: ActivationKeys, forks: Partial<Record<EvmFork, number>>): void {
  let previous: { key: string; activation: number } | undefined;
  for (const [fork, key] of keys) {
    const activation = forks[fork];
    if (activation === undefined) continue;
    if (previous !== undefined && activation < previous.activation) {
      const expected = `at least ${previous.key} (${previous.activation})`;
      const data = { key: fieldKey(path, key), value: activation, expected };
      throw new CodedError<ChainConfigErrorCode>("chain-config/forks-out-of-order", data, { sentence: FIELD_SENTENCE });
    }
    previous = { key, activation };
  }
}

function parseOptimism(
  config: JsonObject,
  configPath: string,
  object: JsonObject,
  path: string,
  genesisTimeSec: number | undefined,
): ChainConfig["optimism"] {
  refuseUnknownForks(config, configPath);
  const forkTimes = readForkTimes(config, configPath, GENESIS_FORK_KEYS, jsonActivation);
  const fault = checkForkSchedule(forkTimes, (fork) => forkFacts(fork).genesisKey, genesisTimeSec);
  if (fault !== undefined) {
    const data = { key: fieldKey(configPath, fault.key), value: fault.timeSec, expected: fault.expected };
    throw new CodedError<ChainConfigErrorCode>("chain-config/forks-out-of-order", data, { sentence: FIELD_SENTENCE });
  }
  const eip1559Denominator = requiredField(object, path, "eip1559Denominator", jsonPositive);
  return {
    eip1559Elasticity: requiredField(object, path, "eip1559Elasticity", jsonPositive),
    eip1559Denominator,
    eip1559DenominatorCanyon: optionalField(object, path, "eip1559DenominatorCanyon", jsonPositive) ?? eip1559Denominator,
    forkTimes,
    bedrockBlock: optionalField(config, configPath, "bedrockBlock", jsonFlexibleNumber) ?? 0,
  };
}

/** A client cannot follow the chain without the rules of a scheduled fork. */
function refuseUnknownForks(config: JsonObject, path: string): void {
  for (const [name, time] of Object.entries(config)) {
    if (!name.endsWith("Time") || KNOWN_TIMES.has(name) || BLOB_TIME.test(name) || time === null) continue;
    throw jsonError(
      fieldKey(path, name),
      time,
      "a fork that this version knows: update it, or remove the key if the chain has no such fork",
    );
  }
}

const jsonPositive: JsonParser<number> = (value, key) => {
  const number = jsonFlexibleNumber(value, key);
  if (number === 0) throw jsonError(key, value, "an integer above 0");
  return number;
};

function coupledTimes(
  path: string,
  ethereumTimes: Partial<Record<EvmFork, number>>,
  opTimes: Partial<Record<OpFork, number>>,
): Partial<Record<EvmFork, number>> {
  const times: Partial<Record<EvmFork, number>> = {};
  for (const [opFork, evmFork] of EVM_FORK_BEARERS) {
    const given = ethereumTimes[evmFork];
    const wanted = opTimes[opFork];
    if (given !== undefined && given !== wanted) {
      const expected = `${opFork}Time (${wanted ?? "not set"})`;
      const data = { key: fieldKey(path, `${evmFork}Time`), value: given, expected };
      throw new CodedError<ChainConfigErrorCode>("chain-config/fork-times-differ", data, { sentence: FIELD_SENTENCE });
    }
    if (wanted !== undefined) times[evmFork] = wanted;
  }
  return times;
}

function parseBlobSchedule(config: JsonObject, path: string): { timeSec: number; params: BlobParams }[] {
  const given = optionalField(config, path, "blobSchedule", jsonObject) ?? {};
  const schedulePath = fieldKey(path, "blobSchedule");
  const schedule: { timeSec: number; params: BlobParams }[] = [];
  let former: BlobParams | undefined;
  for (const fork of BLOB_SCHEDULE_FORKS) {
    const known = knownBlobParams(fork);
    const changesNothing = known !== undefined && sameBlobParams(known, former);
    former = known;
    const timeSec = optionalField(config, path, `${fork}Time`, jsonActivation);
    if (timeSec === undefined) continue;
    const own = optionalField(given, schedulePath, fork, parseBlobParams);
    // Without an entry, a fork that changes no limits inherits the current ones: in op-node, Osaka uses Prague's entry.
    if (own === undefined && changesNothing) continue;
    schedule.push({ timeSec, params: own ?? known ?? missingParams(schedulePath, fork) });
  }
  return schedule;
}

const sameBlobParams = (one: BlobParams, other: BlobParams | undefined): boolean =>
  one.target === other?.target && one.max === other.max && one.baseFeeUpdateFraction === other.baseFeeUpdateFraction;

function missingParams(path: string, fork: BlobScheduleFork): never {
  throw jsonError(fieldKey(path, fork), undefined, "target, max and baseFeeUpdateFraction of a scheduled fork");
}

const parseBlobParams: JsonParser<BlobParams> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    target: requiredField(object, path, "target", jsonFlexibleNumber),
    max: requiredField(object, path, "max", jsonFlexibleNumber),
    baseFeeUpdateFraction: requiredField(object, path, "baseFeeUpdateFraction", (fraction, key) =>
      BigInt(jsonPositive(fraction, key)),
    ),
  };
};

/** A rollup's fork times under the keys of a genesis file, including those of the Ethereum forks that come with them. */
export function genesisForkTimesToJson(forkTimes: ForkTimes): Readonly<Record<string, number>> {
  const evmForkTimes = evmForkTimesOf(forkTimes);
  return withoutUndefined({
    ...Object.fromEntries(TIME_KEYS.map(([fork, key]) => [key, evmForkTimes[fork]])),
    ...Object.fromEntries(GENESIS_FORK_KEYS.map(({ fork, key }) => [key, forkTimes[fork]])),
  }) as Record<string, number>;
}

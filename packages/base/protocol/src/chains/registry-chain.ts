import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type JsonObject,
  type JsonParser,
  jsonAddress,
  jsonBoolean,
  jsonError,
  jsonHash,
  jsonInteger,
  jsonObject,
  jsonOneOf,
  jsonString,
  optionalField,
  requiredField,
} from "../params/json-fields.ts";
import { dependencySetFromJson } from "./dependency-set.ts";
import { oldForkKeysIn, ROLLUP_FORK_KEYS, readForkTimes } from "./fork-keys.ts";
import type { Network } from "./network.ts";
import { networkName } from "./network-names.ts";
import { rollupConfigFromJson, rollupConfigToJson } from "./rollup-config-json.ts";
import { rollupConfigOf } from "./rollup-of-network.ts";

const KNOWN_HARDFORKS: ReadonlySet<string> = new Set([
  ...ROLLUP_FORK_KEYS.flatMap(({ key, oldKey }) => (oldKey === undefined ? [key] : [key, oldKey])),
  "pectra_blob_schedule_time",
  "keep_karst_upgrade_gas",
]);

const hex =
  (parse: JsonParser<Uint8Array>): JsonParser<Hex> =>
  (value, key) =>
    bytesToHex(parse(value, key));
const addressHex = hex(jsonAddress);
const hashHex = hex(jsonHash);

/**
 * Reads a chain's file of a superchain registry, and applies the checks of a rollup configuration.
 *
 * @throws {CodedError} json/invalid, with the key in the file, or that of a rollup configuration
 */
export function networkFromRegistry(path: string, value: unknown, l1ChainId: number): Network {
  const network = readRegistryChain(path, value, l1ChainId);
  rollupConfigFromJson(rollupConfigToJson(rollupConfigOf(network)));
  return network;
}

/**
 * Reads a chain's file of a superchain registry, `superchain/configs/<superchain>/<chain>.toml`, after its TOML is parsed. All
 * keys in `[hardforks]` must be known, because a client cannot follow a chain with an unknown fork. Unknown keys elsewhere are
 * ignored. Spec: docs/protocol/05-services.md#registry-data
 *
 * @param path `<superchain>/<chain>`
 * @param l1ChainId `l1.chain_id` of the superchain's own file
 * @throws {CodedError} json/invalid, with the key in the file
 */
export function readRegistryChain(path: string, value: unknown, l1ChainId: number): Network {
  const file = jsonObject(value, path);
  const hardforks = requiredField(file, "", "hardforks", jsonObject);
  const oldForkKeys = oldForkKeysIn(hardforks);
  const keepsGas = optionalField(hardforks, "hardforks", "keep_karst_upgrade_gas", jsonBoolean);
  const pectraBlobScheduleTime = optionalField(hardforks, "hardforks", "pectra_blob_schedule_time", jsonInteger);
  const interop = optionalField(file, "", "interop", jsonObject);
  const l2ChainId = requiredField(file, "", "chain_id", jsonInteger);
  const dependencies = interop && dependenciesOf(interop, l2ChainId);
  const altDa = optionalField(file, "", "alt_da", parseAltDa);
  const gasPayingToken = optionalField(file, "", "gas_paying_token", addressHex);
  const addresses = requiredField(file, "", "addresses", jsonObject);
  return {
    path,
    name: networkName(path),
    title: requiredField(file, "", "name", jsonString),
    l1ChainId,
    l2ChainId,
    blockTimeSec: requiredField(file, "", "block_time", jsonInteger),
    seqWindowSize: requiredField(file, "", "seq_window_size", jsonInteger),
    maxSequencerDriftSec: requiredField(file, "", "max_sequencer_drift", jsonInteger),
    batchInboxAddress: requiredField(file, "", "batch_inbox_addr", addressHex),
    depositContractAddress: requiredField(addresses, "addresses", "OptimismPortalProxy", addressHex),
    l1SystemConfigAddress: requiredField(addresses, "addresses", "SystemConfigProxy", addressHex),
    dataAvailability: requiredField(file, "", "data_availability_type", jsonOneOf(["eth-da", "alt-da"])),
    genesis: requiredField(file, "", "genesis", parseGenesis),
    forkTimes: parseForkTimes(hardforks),
    ...(oldForkKeys.length > 0 && { oldForkKeys }),
    ...(pectraBlobScheduleTime !== undefined && { pectraBlobScheduleTime }),
    ...(keepsGas && { keepKarstUpgradeGas: true }),
    ...(dependencies && { dependencies }),
    eip1559: requiredField(file, "", "optimism", parseEip1559),
    ...(altDa && { altDa }),
    ...(gasPayingToken && { gasPayingToken }),
  };
}

function parseForkTimes(hardforks: JsonObject): Network["forkTimes"] {
  for (const [key, value] of Object.entries(hardforks)) {
    if (!KNOWN_HARDFORKS.has(key)) throw jsonError(`hardforks.${key}`, value, "a fork that this version knows: update it");
  }
  return readForkTimes(hardforks, "hardforks", ROLLUP_FORK_KEYS, jsonInteger);
}

const parseGenesis: JsonParser<Network["genesis"]> = (value, path) => {
  const genesis = jsonObject(value, path);
  const parseId: JsonParser<{ hash: Hex; number: number }> = (id, key) => ({
    hash: requiredField(jsonObject(id, key), key, "hash", hashHex),
    number: requiredField(jsonObject(id, key), key, "number", jsonInteger),
  });
  const system = requiredField(genesis, path, "system_config", jsonObject);
  const systemPath = `${path}.system_config`;
  return {
    l1: requiredField(genesis, path, "l1", parseId),
    l2: requiredField(genesis, path, "l2", parseId),
    l2TimeSec: requiredField(genesis, path, "l2_time", jsonInteger),
    batcherAddress: requiredField(system, systemPath, "batcherAddress", addressHex),
    overhead: requiredField(system, systemPath, "overhead", hashHex),
    scalar: requiredField(system, systemPath, "scalar", hashHex),
    gasLimit: requiredField(system, systemPath, "gasLimit", jsonInteger),
  };
};

const parseEip1559: JsonParser<Network["eip1559"]> = (value, path) => {
  const optimism = jsonObject(value, path);
  const denominator = requiredField(optimism, path, "eip1559_denominator", jsonInteger);
  return {
    elasticity: requiredField(optimism, path, "eip1559_elasticity", jsonInteger),
    denominator,
    denominatorCanyon: optionalField(optimism, path, "eip1559_denominator_canyon", jsonInteger) ?? denominator,
  };
};

const parseAltDa: JsonParser<NonNullable<Network["altDa"]>> = (value, path) => {
  const altDa = jsonObject(value, path);
  return {
    challengeContractAddress: requiredField(altDa, path, "da_challenge_contract_address", addressHex),
    commitmentType: requiredField(altDa, path, "da_commitment_type", jsonOneOf(["KeccakCommitment", "GenericCommitment"])),
    challengeWindow: requiredField(altDa, path, "da_challenge_window", jsonInteger),
    resolveWindow: requiredField(altDa, path, "da_resolve_window", jsonInteger),
  };
};

function dependenciesOf(interop: JsonObject, l2ChainId: number): readonly number[] | undefined {
  const given = optionalField(interop, "interop", "dependencies", jsonObject);
  if (given === undefined) return undefined;
  const chainIds = dependencySetFromJson({ dependencies: given }).chainIds.map(Number);
  if (!chainIds.includes(l2ChainId)) throw jsonError("interop.dependencies", given, `the chain itself, ${l2ChainId}, among them`);
  return chainIds;
}

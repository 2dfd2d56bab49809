import { bytesToHex } from "@rnode/primitives";
import { type ChainConfig, EVM_FORKS, type EvmFork, evmForkFacts, forkRules } from "@rnode/protocol";
import type { JsonObject } from "./transaction-json.ts";

/** The keys by which a genesis file names a fork's block. */
function blockKeys(fork: EvmFork): readonly string[] {
  const { activation } = evmForkFacts(fork);
  if (activation === undefined || !("block" in activation)) return [];
  return [...(activation.alsoWritten ?? []), activation.block];
}

/** A chain configuration in the form of a genesis file. */
export function chainConfigToJson(config: ChainConfig): JsonObject {
  const { optimism, difficultyBombBlocks: bombs, terminalTotalDifficulty } = config;
  const json: JsonObject = { chainId: Number(config.chainId) };
  for (const [fork, block] of Object.entries(config.forkBlocks)) {
    for (const key of blockKeys(fork as EvmFork)) json[key] = block;
  }
  if (config.daoForkBlock !== undefined) {
    json.daoForkBlock = config.daoForkBlock;
    json.daoForkSupport = config.daoForkSupport ?? false;
  }
  if (bombs?.muirGlacier !== undefined) json.muirGlacierBlock = bombs.muirGlacier;
  if (bombs?.arrowGlacier !== undefined) json.arrowGlacierBlock = bombs.arrowGlacier;
  if (bombs?.grayGlacier !== undefined) json.grayGlacierBlock = bombs.grayGlacier;
  if (terminalTotalDifficulty !== undefined) {
    const isExact = terminalTotalDifficulty <= BigInt(Number.MAX_SAFE_INTEGER);
    json.terminalTotalDifficulty = isExact ? Number(terminalTotalDifficulty) : String(terminalTotalDifficulty);
  }
  for (const [fork, timeSec] of Object.entries(config.evmForkTimes)) json[`${fork}Time`] = timeSec;
  if (config.blobSchedule.length > 0) Object.assign(json, blobScheduleJson(config));
  if (config.depositContractAddress !== undefined) json.depositContractAddress = bytesToHex(config.depositContractAddress);
  if (optimism !== undefined) {
    json.bedrockBlock = optimism.bedrockBlock;
    for (const [fork, timeSec] of Object.entries(optimism.forkTimes)) json[`${fork}Time`] = timeSec;
    json.optimism = {
      eip1559Elasticity: optimism.eip1559Elasticity,
      eip1559Denominator: optimism.eip1559Denominator,
      eip1559DenominatorCanyon: optimism.eip1559DenominatorCanyon,
    };
  }
  return json;
}

/** Forks with blob limits come first; after them the schedule changes that are not forks (BPO1…). */
function blobScheduleJson({ blobSchedule, evmForkTimes }: ChainConfig): JsonObject {
  const named = EVM_FORKS.filter((fork) => forkRules(fork).acceptsBlobs && evmForkTimes[fork] !== undefined);
  const times: JsonObject = {};
  const schedule: JsonObject = {};
  blobSchedule.forEach(({ timeSec, params }, index) => {
    const name = named[index] ?? `bpo${index - named.length + 1}`;
    if (named[index] === undefined) times[`${name}Time`] = timeSec;
    const { target, max, baseFeeUpdateFraction } = params;
    schedule[name] = { target, max, baseFeeUpdateFraction: Number(baseFeeUpdateFraction) };
  });
  return { ...times, blobSchedule: schedule };
}

import { statSync } from "node:fs";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import {
  type ChainConfig,
  chainConfigBeforeBlobs,
  chainConfigOf,
  chainConfigOfRollup,
  evmForkTimesOf,
  forksBegunBy,
  forksUpTo,
  type Header,
  l1ChainConfig,
  networkByChainId,
  newestForkLike,
  rollupConfigFromJson,
  whyNoClientFollows,
} from "@rnode/protocol";
import { loadChainSpec } from "../setup/chain-spec.ts";
import { readJson } from "../setup/read-input.ts";

/** The rules of a forked chain. */
export interface RulesOfFork {
  /** `undefined`: an Ethereum chain that no table has, with blobs: `--dev.fork` says it */
  readonly config: ChainConfig | undefined;
  /** of an OP Stack chain */
  readonly blockTimeSec?: number | undefined;
}

export interface ForkedChain {
  readonly chainId: bigint;
  /** of the fork block */
  readonly header: Header;
  /** whether the chain has the L1Block predeploy */
  readonly hasL1Block: () => boolean;
  /** `--chain`: a name, a genesis file, a chain's file of a registry, or a rollup configuration; empty: none */
  readonly given: string;
  /** `--chain` may be of another chain, and then says nothing */
  readonly isReset: boolean;
}

/** The OP Stack's, where neither table nor file says it. */
const USUAL_BLOCK_TIME_SEC = 2;
const STANDARD_EIP1559 = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 } as const;

/** @throws {UserError} `--chain` is of another chain, or cannot be read */
export async function rulesOfFork(chain: ForkedChain, log: Pick<Logger, "warn">): Promise<RulesOfFork> {
  const { config, blockTimeSec } = await findRules(chain, log);
  if (config?.optimism === undefined) return { config };
  // A fork that began in a local block would need the transactions of its upgrade, which derivation makes.
  const { optimism, evmForkTimes } = config;
  const forkTimes = forksBegunBy(optimism.forkTimes, chain.header.timestamp);
  const begun = {
    ...config,
    evmForkTimes: forksBegunBy(evmForkTimes, chain.header.timestamp),
    optimism: { ...optimism, forkTimes },
  };
  return { config: begun, blockTimeSec: blockTimeSec ?? USUAL_BLOCK_TIME_SEC };
}

async function findRules(
  { chainId, header, hasL1Block, given, isReset }: ForkedChain,
  log: Pick<Logger, "warn">,
): Promise<RulesOfFork> {
  const rules = given === "" ? undefined : await givenRules(given);
  if (rules?.config.chainId === chainId) return rules;
  if (rules !== undefined && !isReset)
    throw new UserError(
      `--chain=${given} is chain ${rules.config.chainId}, but the endpoint of --fork-url serves chain ${chainId}`,
    );
  const l1 = l1ChainConfig(chainId);
  if (l1 !== undefined) return { config: l1 };
  const network = networkByChainId(chainId);
  if (network !== undefined) return { config: chainConfigOf(network), blockTimeSec: network.blockTimeSec };
  if (!hasL1Block()) return { config: chainConfigBeforeBlobs(chainId, header) };
  const fork = newestForkLike(header);
  log.warn("no table has the forks of this OP Stack chain: it gets the newest ones that its block can be of", {
    chainId: String(chainId),
    fork,
    remedy: "give the chain's genesis or rollup.json with --chain",
    reason: whyNoClientFollows(chainId),
  });
  const forkTimes = forksUpTo(fork);
  return {
    config: {
      chainId,
      forkBlocks: {},
      evmForkTimes: evmForkTimesOf(forkTimes),
      terminalTotalDifficulty: 0n,
      blobSchedule: [],
      optimism: { ...STANDARD_EIP1559, forkTimes, bedrockBlock: 0 },
    },
  };
}

async function givenRules(given: string): Promise<RulesOfFork & { readonly config: ChainConfig }> {
  const rollup = await readRollupConfig(given);
  const spec = rollup === undefined ? await loadChainSpec({ chain: given }) : undefined;
  const config = rollup === undefined ? spec!.config : chainConfigOfRollup(rollup);
  return { config, blockTimeSec: rollup?.blockTimeSec ?? spec?.network?.blockTimeSec };
}

const MAX_ROLLUP_CONFIG_BYTES = 1 << 20;

/** `undefined`: it is no rollup configuration. */
async function readRollupConfig(path: string) {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.size > MAX_ROLLUP_CONFIG_BYTES || !path.endsWith(".json")) return undefined;
  const json = await readJson(path);
  if (typeof json !== "object" || json === null || !("l2_chain_id" in json)) return undefined;
  try {
    return rollupConfigFromJson(json, { unknownKeys: "ignore" });
  } catch (error) {
    if (!isCodedError(error, "json/")) throw error;
    throw new UserError(`--chain=${path}: ${error.message}`, { cause: error });
  }
}

import { existsSync } from "node:fs";
import { genesisBlock } from "@rnode/chain";
import { bytesToHex } from "@rnode/primitives";
import {
  type ChainConfig,
  chainConfigOfNetwork,
  type Genesis,
  L1_CHAINS,
  NETWORKS,
  type Network,
  networkByName,
  parseGenesis,
} from "@rnode/protocol";
import type { BlockCommit } from "@rnode/storage";
import { CommandError } from "./command-error.ts";
import { readJson } from "./read-input.ts";

/** What `--chain` and `--genesis` say. */
export interface ChainSpec {
  /** as given: a file or a name */
  readonly chain: string;
  readonly config: ChainConfig;
  /** undefined: a named network without `--genesis`; enough for a database that has its genesis */
  readonly genesis: Genesis | undefined;
  /** of a network's table */
  readonly network: Network | undefined;
}

/**
 * Reads `--chain=FILE|NAME` and `--genesis=FILE|URL`. A name gives forks and ids from the table; allocations come from the file.
 *
 * @throws {CommandError} on anything that does not fit, naming it; CodedError of the genesis parser
 */
export async function loadChainSpec(given: { readonly chain: string; readonly genesis?: string | undefined }): Promise<ChainSpec> {
  const { chain } = given;
  const network = networkByName(chain);
  if (network === undefined && !Object.hasOwn(L1_CHAINS, chain.toLowerCase())) return await chainSpecOfFile(chain, given.genesis);
  const config = chainConfigOfNetwork(chain);
  if (given.genesis === undefined) return { chain, config, genesis: undefined, network };
  const genesis = await readGenesis(given.genesis);
  if (genesis.config !== undefined && genesis.config.chainId !== config.chainId) {
    throw new CommandError(
      `${given.genesis}: is the genesis of chain ${genesis.config.chainId}, but --chain=${chain} is chain ${config.chainId}`,
    );
  }
  return { chain, config, genesis, network };
}

async function chainSpecOfFile(chain: string, genesisSource: string | undefined): Promise<ChainSpec> {
  if (!existsSync(chain) && !/^https?:\/\//.test(chain)) {
    const names = NETWORKS.map(({ name }) => name).join(", ");
    throw new CommandError(`--chain: "${chain}" is neither a file nor the name of a network (${names})`);
  }
  if (genesisSource !== undefined) {
    throw new CommandError(`--genesis goes with the name of a network: the file of --chain=${chain} holds the allocations`);
  }
  const genesis = await readGenesis(chain);
  if (genesis.config === undefined) {
    throw new CommandError(`${chain}: "config" is null; give --chain=NAME --genesis=${chain} to take forks and ids from the table`);
  }
  return { chain, config: genesis.config, genesis, network: undefined };
}

async function readGenesis(source: string): Promise<Genesis> {
  const json = await readJson(source);
  try {
    return parseGenesis(json);
  } catch (cause) {
    throw new CommandError(`${source}: ${(cause as Error).message}`, { cause });
  }
}

/**
 * The genesis block, which must have the hash of the table.
 *
 * @throws {CommandError} naming both hashes, or that allocations are missing
 */
export function genesisOfSpec(spec: ChainSpec): BlockCommit {
  const { chain, config, genesis, network } = spec;
  if (genesis === undefined) {
    throw new CommandError(`--chain=${chain} needs --genesis=FILE with the allocations of the network's genesis`);
  }
  const commit = genesisBlock(genesis, config);
  const hash = bytesToHex(commit.hash);
  if (network !== undefined) {
    const { l2 } = network.genesis;
    if (l2.number !== genesis.header.number) {
      throw new CommandError(
        `${network.name} starts at block ${l2.number}, with the state of another client: it has no genesis file`,
      );
    }
    if (l2.hash !== hash) {
      throw new CommandError(`the genesis file gives block ${hash}, but ${network.name} starts with ${l2.hash}`);
    }
  }
  return commit;
}

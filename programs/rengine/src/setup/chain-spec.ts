import { existsSync } from "node:fs";
import { type GenesisStore, initGenesis, type SealedGenesis, sealGenesis, storedGenesisHash } from "@rnode/chain";
import { type FoundNetwork, findNetwork, type RegistryUrlOptions, registryAt } from "@rnode/networks";
import type { Logger } from "@rnode/observe";
import {
  asciiToBytes,
  bigintToBytes,
  bytesToBigint,
  bytesToHex,
  type Clock,
  concatBytes,
  equalBytes,
  hexToBytes,
  isCodedError,
} from "@rnode/primitives";
import { UserError } from "@rnode/program";
import {
  type ChainConfig,
  chainConfigOf,
  expectNetwork,
  isNetworksTableOld,
  L1_CHAINS,
  type L1ChainName,
  NETWORKS_SOURCE,
  type Network,
  whyNoClientFollows,
} from "@rnode/protocol";
import { type GenesisFile, openGenesisFile } from "./genesis-file.ts";
import { GenesisMemory } from "./genesis-memory.ts";
import { FetchFailure, type GenesisFetch, PublishedGenesis } from "./published-genesis.ts";
import { isUrl } from "./read-input.ts";

/** The chain that `--chain` and `--genesis` describe. */
export interface ChainSpec {
  /** as given: a file or the name of a network */
  readonly chain: string;
  readonly config: ChainConfig;
  /** undefined: a named network without `--genesis`, which is enough for a database that already has its genesis */
  readonly genesis: GenesisFile | undefined;
  /** a network of the table or of a registry; undefined: the genesis file has everything */
  readonly network: Network | undefined;
  /** the registry or file that the network is from; undefined: the table of networks */
  readonly networkFrom?: string | undefined;
}

/**
 * Reads `--chain=FILE|NAME` and `--genesis=FILE|URL`. A name selects the forks and ids from the table of networks; allocations come
 * from the file.
 *
 * @throws {UserError} on anything that does not fit, naming it; CodedError from the genesis parser
 */
export async function loadChainSpec(
  given: {
    readonly chain: string;
    readonly genesis?: string | undefined;
    /** the superchain registry to read a named network from; default: the table of networks */
    readonly registry?: string | undefined;
    /** remembers a large genesis file */
    readonly datadir?: string | undefined;
  },
  registryOptions?: RegistryUrlOptions,
): Promise<ChainSpec> {
  const { chain } = given;
  const memory = given.datadir === undefined ? undefined : new GenesisMemory(given.datadir);
  const found = await findRollup(chain, given.registry, registryOptions);
  const l1 = L1_CHAINS[chain.toLowerCase() as L1ChainName] as ChainConfig | undefined;
  const config = found === undefined ? l1 : chainConfigOf(found.network);
  if (config === undefined) return await chainSpecOfFile(chain, given.genesis, memory);
  const network = found?.network;
  const networkFrom = found?.from;
  if (given.genesis === undefined) return { chain, config, genesis: undefined, network, networkFrom };
  const genesis = await openGenesisFile(given.genesis, memory);
  const own = genesis.head.config;
  if (own !== undefined && own.chainId !== config.chainId) {
    throw new UserError(
      `${given.genesis}: is the genesis of chain ${own.chainId}, but --chain=${chain} is chain ${config.chainId}`,
    );
  }
  return { chain, config, genesis, network, networkFrom };
}

async function findRollup(
  chain: string,
  registry: string | undefined,
  options: RegistryUrlOptions | undefined,
): Promise<FoundNetwork | undefined> {
  if (isUrl(chain)) return undefined;
  try {
    return await findNetwork(chain, registry === undefined ? undefined : registryAt(registry, options));
  } catch (cause) {
    if (!isCodedError(cause, "registry/")) throw cause;
    throw new UserError(`--chain: ${cause.message}`, { cause });
  }
}

/** Logs where a network is from, an old table, old keys of a genesis file, and a chain that is none of the OP Stack. */
export function logChainSpec({ chain, config, genesis, network, networkFrom }: ChainSpec, { log, clock }: SpecLogDeps): void {
  if (network !== undefined && networkFrom !== undefined) {
    log.info("the network's configuration is read from a registry", { network: network.name, from: networkFrom });
  } else if (network !== undefined && isNetworksTableOld(clock.unixMs() / 1_000)) {
    const remedy = "update rengine, or give --registry: forks may have been scheduled since";
    log.warn("the table of networks is older than six months", { network: network.name, day: NETWORKS_SOURCE.day, remedy });
  }
  for (const old of network?.oldForkKeys ?? [])
    log.warn("the network's configuration has a key under its old name", { network: network?.name, ...old });
  if (genesis !== undefined && config === genesis.head.config) {
    for (const old of genesis.oldKeys) log.warn("the genesis file has a key under its old name", { file: chain, ...old });
  }
  const reason = whyNoClientFollows(config.chainId);
  if (reason !== undefined) log.warn("this chain left the OP Stack, and the node will stop or fork there", { reason });
}

export interface SpecLogDeps {
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: Pick<Clock, "unixMs">;
}

async function chainSpecOfFile(
  chain: string,
  genesisSource: string | undefined,
  memory: GenesisMemory | undefined,
): Promise<ChainSpec> {
  if (!existsSync(chain) && !isUrl(chain)) {
    throw new UserError(`--chain: "${chain}" is neither a file nor the name of a network: ${whyUnknown(chain)}`);
  }
  if (genesisSource !== undefined) {
    throw new UserError(`--genesis goes with the name of a network: the file of --chain=${chain} holds the allocations`);
  }
  const genesis = await openGenesisFile(chain, memory);
  const { config } = genesis.head;
  if (config === undefined) {
    throw new UserError(`${chain}: "config" is null; give --chain=NAME --genesis=${chain} to take forks and ids from the table`);
  }
  return { chain, config, genesis, network: undefined };
}

/** Why this is not the name of a network. */
function whyUnknown(chain: string): string {
  try {
    return `${expectNetwork(chain).name} is a network`;
  } catch (error) {
    if (!isCodedError(error, "network/")) throw error;
    return error.message;
  }
}

/**
 * The genesis block, whose hash must match the table of networks. The state has to be closed after use.
 *
 * @param folder for temporary files of a large state; default: that of the system
 * @param fetch gets the genesis file of a named network without `--genesis`; undefined: not possible
 * @throws {UserError} naming both hashes, or saying that allocations are missing
 */
export async function genesisOfSpec(spec: ChainSpec, folder?: string, fetch?: GenesisFetch): Promise<SealedGenesis> {
  const { chain, genesis, network } = spec;
  if (network !== undefined && network.genesis.l2.number !== (genesis?.head.header.number ?? 0)) {
    throw new UserError(
      `${network.name} starts at block ${network.genesis.l2.number}, with the state of another client: it has no genesis file; take that state with rengine import-state --chain=${network.name} --from=FILE, or a later one from a node's snapshot with rengine snapshot restore --chain=${network.name} --from=FILE|URL`,
    );
  }
  if (genesis !== undefined) return await sealedGenesis(spec, genesis, folder);
  if (network === undefined || fetch === undefined) {
    throw new UserError(
      `--chain=${chain} needs --genesis=FILE with the allocations of the network's genesis: the superchain registry has them as superchain/extra/genesis/…/….json.zst`,
    );
  }
  const published = new PublishedGenesis(network, fetch);
  for (;;) {
    try {
      return await sealedGenesis(spec, await published.open(), folder);
    } catch (error) {
      if (error instanceof FetchFailure || !(error instanceof UserError || isCodedError(error, "genesis/"))) throw error;
      // What an earlier run left may be damaged: it is fetched once more.
      const { isKept } = published;
      published.drop();
      if (isKept) continue;
      throw new UserError(
        `${published.places} does not have the genesis: ${error.message}; give it with --genesis=FILE|URL, or another mirror with --registry`,
        { cause: error },
      );
    }
  }
}

/** The genesis block of the chain; undefined: `--chain` names a network that has no genesis hash in the table. */
export async function genesisHashOf(spec: ChainSpec): Promise<Uint8Array | undefined> {
  if (spec.network !== undefined) return hexToBytes(spec.network.genesis.l2.hash);
  if (spec.genesis === undefined) return undefined;
  const { hash: genesisHash, state } = await genesisOfSpec(spec);
  state.close();
  return genesisHash;
}

async function sealedGenesis({ config, network }: ChainSpec, genesis: GenesisFile, folder?: string): Promise<SealedGenesis> {
  const { header } = genesis.head;
  const sealed = sealGenesis(header, config, await genesis.readState(folder));
  const hash = bytesToHex(sealed.hash);
  if (network !== undefined && network.genesis.l2.hash !== hash) {
    sealed.state.close();
    throw new UserError(`the genesis file gives block ${hash}, but ${network.name} starts with ${network.genesis.l2.hash}`);
  }
  return sealed;
}

/**
 * Database key for the digest of the genesis file and everything else the genesis depends on. If it has not changed, the genesis need
 * not be computed again at every start.
 */
const GENESIS_SOURCE_KEY = "genesis-source";
const sourceOf = ({ chain, config, genesis }: ChainSpec): Uint8Array | undefined =>
  genesis && concatBytes(genesis.digest, asciiToBytes(config === genesis.head.config ? "" : chain));

/** Database key for the chain id, which is not a part of the genesis block. */
const CHAIN_ID_KEY = "chain-id";

/** @throws {UserError} the database is of a chain that has the same genesis block and another id */
function assertChainId(store: Pick<GenesisStore, "head" | "readMeta">, { chain, config }: ChainSpec): void {
  const stored = store.head() === undefined ? undefined : store.readMeta(CHAIN_ID_KEY);
  if (stored === undefined || bytesToBigint(stored) === config.chainId) return;
  throw new UserError(
    `the database is of chain ${bytesToBigint(stored)}, but --chain=${chain} is chain ${config.chainId}: give the genesis file that the database was made with, or another --datadir`,
  );
}

/**
 * Makes sure that the database begins with the genesis of the chain, and writes it if there is none.
 *
 * @throws {UserError} the database is of another chain
 * @throws {CodedError} chain/other-genesis: the database begins with a different one
 */
export async function prepareGenesis(
  store: GenesisStore & { readonly folder?: string },
  spec: ChainSpec,
  fetch?: GenesisFetch,
): Promise<"present" | "written" | "again"> {
  const stored = storedGenesisHash(store);
  assertChainId(store, spec);
  if (stored !== undefined) {
    const expected = spec.network?.genesis.l2.hash;
    if (expected !== undefined && expected !== bytesToHex(stored)) {
      throw new UserError(`the database begins with block ${bytesToHex(stored)}, but ${spec.chain} begins with ${expected}`);
    }
    // A named network without --genesis: the database was created by `rengine init`, and the table has the genesis hash.
    const known = spec.genesis === undefined ? undefined : store.readMeta(GENESIS_SOURCE_KEY);
    if (spec.genesis === undefined || (known !== undefined && equalBytes(known, sourceOf(spec)!))) {
      noteChainId(store, spec);
      return "present";
    }
  }
  return writeGenesis(store, spec, await genesisOfSpec(spec, store.folder, fetch));
}

/** Remembers that the database begins with the genesis of the chain, which was checked. */
export function noteGenesis(store: Pick<GenesisStore, "readMeta" | "writeMeta">, spec: ChainSpec): void {
  noteChainId(store, spec);
  const source = sourceOf(spec);
  if (source !== undefined) store.writeMeta(GENESIS_SOURCE_KEY, source);
}

function noteChainId(store: Pick<GenesisStore, "readMeta" | "writeMeta">, { config }: ChainSpec): void {
  if (store.readMeta(CHAIN_ID_KEY) === undefined) store.writeMeta(CHAIN_ID_KEY, bigintToBytes(config.chainId, 32));
}

/** Like `prepareGenesis`, but with a genesis from `genesisOfSpec`, whose state is closed. */
export function writeGenesis(store: GenesisStore, spec: ChainSpec, genesis: SealedGenesis): "present" | "written" | "again" {
  try {
    assertChainId(store, spec);
    const outcome = initGenesis(store, genesis);
    noteGenesis(store, spec);
    return outcome;
  } finally {
    genesis.state.close();
  }
}

/** For an operator whose earlier start was interrupted. */
export const INTERRUPTED_GENESIS =
  "writing the genesis had been interrupted: what was there of it is removed, and it is written from the beginning";

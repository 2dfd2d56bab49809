import { GenesisState, initGenesis } from "@rnode/chain";
import {
  type DevAccount,
  ForkCache,
  type ForkFacts,
  openBlockingRpc,
  RemoteState,
  type RemoteTarget,
  readForkBlock,
  type StateEdits,
} from "@rnode/dev-chain";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { bytesToHex, type Hex, isCodedError, isSystemError, ZERO_ADDRESS } from "@rnode/primitives";
import { makeFolder, type Scope, UserError } from "@rnode/program";
import { activeOpFork, type ChainConfig, L1_ATTRIBUTES_DEPOSITOR, PREDEPLOYS } from "@rnode/protocol";
import type { ChainStore } from "@rnode/storage";
import type { ClientOptions } from "../options.ts";
import { DEFAULT_CHAIN_ID } from "./dev-options.ts";
import { rulesOfFork } from "./fork-rules.ts";

const WEI_PER_ETHER = 10n ** 18n;
const slotOf = (slot: number): Hex => `0x${slot.toString(16).padStart(64, "0")}`;
/** EIP-1967 */
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const { l1Block, l2ToL1MessagePasser, sequencerFeeVault, baseFeeVault, l1FeeVault, operatorFeeVault } = PREDEPLOYS;
/** The L1 attributes, and who gets fees. */
const READ_BY_EVERY_ROLLUP_BLOCK = [
  { address: bytesToHex(l1Block), slots: [...Array.from({ length: 9 }, (_, slot) => slotOf(slot)), IMPLEMENTATION_SLOT] },
  ...[L1_ATTRIBUTES_DEPOSITOR, l2ToL1MessagePasser, sequencerFeeVault, baseFeeVault, l1FeeVault, operatorFeeVault].map(
    (address) => ({ address: bytesToHex(address), slots: [] }),
  ),
] satisfies RemoteTarget[];

/** The start of a forked development chain, in place of a genesis. */
export interface Fork {
  /** with the chain id and the gas limit of the other chain */
  readonly options: ClientOptions;
  /** `undefined`: an Ethereum chain that no table has */
  readonly config: ChainConfig | undefined;
  /** 20 bytes: where fees go */
  readonly coinbase: Uint8Array;
  readonly facts: ForkFacts;
  readonly state: RemoteState;
  /** for requests about blocks before the fork */
  readonly remote: RpcClient;
  /** Makes the fork block the first one of an empty store. */
  begin(store: ChainStore): void;
  fundsOf(accounts: readonly DevAccount[]): StateEdits;
}

export interface ForkDeps {
  readonly accounts: readonly DevAccount[];
  readonly nowSec: number;
  /** `--chain` may be of another chain: the program began with that */
  readonly isReset: boolean;
  readonly log: Logger;
}

/** @throws {UserError} the chain or the block cannot be forked */
export async function openFork(
  scope: Scope,
  options: ClientOptions,
  { accounts, nowSec, isReset, log }: ForkDeps,
): Promise<Fork | undefined> {
  const { dev, chain } = options;
  if (dev.forkUrl === undefined) return undefined;
  if (chain.datadir !== "")
    throw new UserError("--fork-url: a forked chain is not kept; leave --datadir out, or use anvil_dumpState and anvil_loadState");
  const url = dev.forkUrl;
  const rpc = await scope.use(
    "endpoint of the fork",
    async () => openBlockingRpc(url),
    (open) => open.close(),
  );
  const { state, chainId } = asUserError(() => {
    const { chainId: id, ...found } = readForkBlock(rpc, dev.forkBlock);
    const cacheOptions = { folder: dev.forkCache ?? "", maxBytes: dev.forkCacheBytes, chainId: id, blockHash: found.hash, nowSec };
    const cache = dev.forkCache === undefined ? undefined : openCache(cacheOptions, log);
    return { chainId: id, state: new RemoteState(found, rpc, log, cache) };
  });
  const { header } = state.block;
  if (header.difficulty !== 0n)
    throw new UserError(
      `--fork-url: block ${header.number} is proof of work, from before the merge; choose a later one with --fork-block`,
    );
  if (dev.chainId !== DEFAULT_CHAIN_ID && BigInt(dev.chainId) !== chainId)
    throw new UserError(
      `--dev.chain-id ${dev.chainId}: the forked chain is ${chainId}; leave the option out, anvil_setChainId changes the id later`,
    );
  const hasL1Block = (): boolean => asUserError(() => state.account(PREDEPLOYS.l1Block)) !== undefined;
  const { config, blockTimeSec } = await rulesOfFork({ chainId, header, hasL1Block, given: chain.chain, isReset }, log);
  const read = accounts.map(({ address }) => bytesToHex(address));
  const ofRollup = config?.optimism === undefined ? [] : READ_BY_EVERY_ROLLUP_BLOCK;
  asUserError(() => state.prefetch([...read.map((address) => ({ address, slots: [] })), ...ofRollup]));
  const fork = config?.optimism && activeOpFork(config.optimism.forkTimes, header.timestamp);
  log.info("chain forked", { chainId: String(chainId), number: header.number, hash: bytesToHex(state.hash), fork });
  return {
    options: {
      ...options,
      chain: { ...chain, chain: "" }, // read here
      dev: {
        ...dev,
        chainId: Number(chainId),
        gasLimit: header.gasLimit,
        slotTimeSec: dev.slotTimeSec ?? (dev.blockTimeMs === undefined ? blockTimeSec : undefined),
      },
    },
    config,
    facts: { url: new URL(url).origin, chainId: Number(chainId), number: header.number, hash: bytesToHex(state.hash) },
    coinbase: config?.optimism === undefined ? ZERO_ADDRESS : header.beneficiary,
    state,
    remote: createRpcClient({ url, timeoutMs: 30_000 }),
    begin(store) {
      const none = GenesisState.of([]);
      try {
        none.seal(ZERO_ADDRESS);
        initGenesis(store, { block: state.block, hash: state.hash, state: none });
      } finally {
        none.close();
      }
    },
    fundsOf(accounts) {
      const balance = BigInt(dev.balanceEther) * WEI_PER_ETHER;
      return new Map(accounts.map(({ address }) => [bytesToHex(address), { balance, storage: new Map() }]));
    },
  };
}

function openCache(options: ConstructorParameters<typeof ForkCache>[0], log: Logger): ForkCache {
  try {
    makeFolder(options.folder);
    return new ForkCache(options, log);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    throw new UserError(`--fork-cache=${options.folder} cannot be used: ${error.message}`, { cause: error });
  }
}

function asUserError<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof UserError || !(error instanceof Error)) throw error;
    throw new UserError(
      `--fork-url: ${isCodedError(error, "rpc-json/") ? "the endpoint's block cannot be read: " : ""}${error.message}`,
      { cause: error },
    );
  }
}

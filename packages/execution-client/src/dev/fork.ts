import { GenesisState, initGenesis, type StateEdits } from "@rnode/chain";
import { type DevAccount, openBlockingRpc, RemoteState, readForkBlock } from "@rnode/dev-chain";
import { createRpcClient, type RpcClient } from "@rnode/jsonrpc";
import type { Logger } from "@rnode/observe";
import { bytesToHex, isCodedError, ZERO_ADDRESS } from "@rnode/primitives";
import { type Scope, UserError } from "@rnode/program";
import { networkByChainId, PREDEPLOYS } from "@rnode/protocol";
import type { ChainStore } from "@rnode/storage";
import type { ClientOptions } from "../options.ts";
import { DEFAULT_CHAIN_ID } from "./dev-options.ts";

const WEI_PER_ETHER = 10n ** 18n;

/** What a development chain begins with instead of a genesis. */
export interface Fork {
  /** with the chain id and the gas limit of the other chain */
  readonly options: ClientOptions;
  readonly state: RemoteState;
  /** for what is older than the fork */
  readonly remote: RpcClient;
  /** Makes the fork block the first one of an empty store. */
  begin(store: ChainStore): void;
  fundsOf(accounts: readonly DevAccount[]): StateEdits;
}

/** @throws {UserError} the chain or the block cannot be forked */
export async function openFork(scope: Scope, options: ClientOptions, log: Logger): Promise<Fork | undefined> {
  const { dev, chain } = options;
  if (dev.forkUrl === undefined) return undefined;
  if (chain.datadir !== "")
    throw new UserError("--fork-url: a forked chain is not kept; leave --datadir out, or use anvil_dumpState and anvil_loadState");
  if (chain.chain !== "") throw new UserError("--fork-url: the chain has its own rules; leave --chain out");
  const url = dev.forkUrl;
  const rpc = await scope.use(
    "endpoint of the fork",
    async () => openBlockingRpc(url),
    (open) => open.close(),
  );
  const { state, chainId } = asUserError(() => {
    const { chainId: id, ...found } = readForkBlock(rpc, dev.forkBlock);
    return { chainId: id, state: new RemoteState(found, rpc, log) };
  });
  const { header } = state.block;
  const isRollup = networkByChainId(chainId) !== undefined || asUserError(() => state.account(PREDEPLOYS.l1Block)) !== undefined;
  if (isRollup) throw new UserError(`--fork-url: chain ${chainId} is of the OP Stack, which cannot be forked yet; fork its L1`);
  if (header.excessBlobGas === undefined)
    throw new UserError(`--fork-url: block ${header.number} is older than blobs (Cancun); choose a later one with --fork-block`);
  if (dev.chainId !== DEFAULT_CHAIN_ID && BigInt(dev.chainId) !== chainId)
    throw new UserError(
      `--dev.chain-id ${dev.chainId}: the forked chain is ${chainId}; leave the option out, anvil_setChainId changes the id later`,
    );
  log.info("chain forked", { chainId: String(chainId), number: header.number, hash: bytesToHex(state.hash) });
  return {
    options: { ...options, dev: { ...dev, chainId: Number(chainId), gasLimit: header.gasLimit } },
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

import type { ApiMethod, ApiMethods, WriteServices } from "@rnode/eth-api";
import { INVALID_PARAMS, RpcError, ShapeError, toRpcError } from "@rnode/jsonrpc";
import { type AccountMethodsDeps, accountMethods } from "./account-methods.ts";
import { type ChainMethodsDeps, chainMethods } from "./chain-methods.ts";
import { type DumpSource, dumpMethods } from "./dump-methods.ts";
import { type BlockJson, miningMethods } from "./mining-methods.ts";
import { stateMethods } from "./state-methods.ts";
import { type TokenMethodsDeps, tokenMethods } from "./token-methods.ts";

type DevMethodsDeps = Omit<AccountMethodsDeps, "admit" | "chainId"> &
  Omit<ChainMethodsDeps, "send"> &
  Omit<TokenMethodsDeps, "dev"> & { readonly store: DumpSource; readonly blockJson: BlockJson };

/** Other names under which test tools know a method. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  evm_mine_detailed: ["evm_mineDetailed"],
  anvil_dealERC20: ["hardhat_dealERC20", "tenderly_setErc20Balance"],
  anvil_mine: ["hardhat_mine"],
  evm_setAutomine: ["anvil_setAutomine"],
  anvil_getAutomine: ["hardhat_getAutomine"],
  evm_setIntervalMining: ["anvil_setIntervalMining"],
  evm_setBlockGasLimit: ["anvil_setBlockGasLimit"],
  evm_increaseTime: ["anvil_increaseTime"],
  evm_setTime: ["anvil_setTime"],
  evm_setNextBlockTimestamp: ["anvil_setNextBlockTimestamp"],
  evm_snapshot: ["anvil_snapshot"],
  evm_revert: ["anvil_revert"],
  anvil_reset: ["hardhat_reset"],
  anvil_metadata: ["hardhat_metadata"],
  anvil_setBalance: ["hardhat_setBalance", "evm_setAccountBalance"],
  anvil_addBalance: ["hardhat_addBalance"],
  anvil_setCode: ["hardhat_setCode", "evm_setAccountCode"],
  anvil_setNonce: ["hardhat_setNonce", "evm_setAccountNonce"],
  anvil_setStorageAt: ["hardhat_setStorageAt", "evm_setAccountStorageAt"],
  anvil_setCoinbase: ["hardhat_setCoinbase"],
  anvil_setMinGasPrice: ["hardhat_setMinGasPrice"],
  anvil_setNextBlockBaseFeePerGas: ["hardhat_setNextBlockBaseFeePerGas"],
  anvil_impersonateAccount: ["hardhat_impersonateAccount"],
  anvil_stopImpersonatingAccount: ["hardhat_stopImpersonatingAccount"],
  anvil_autoImpersonateAccount: ["hardhat_autoImpersonateAccount"],
  anvil_dropTransaction: ["hardhat_dropTransaction"],
  anvil_dropAllTransactions: ["hardhat_dropAllTransactions"],
  anvil_setLoggingEnabled: ["hardhat_setLoggingEnabled"],
};

/** The methods that only a development chain has; those of accounts take the place of the usual ones. */
export function devMethods(deps: DevMethodsDeps): ApiMethods {
  const { dev, chain, store } = deps;
  const { methods: ofAccounts, send } = accountMethods({
    ...deps,
    chainId: () => chain.config.chainId,
    admit: (hash) => dev.mining.admit(hash),
  });
  const methods: ApiMethods = {
    ...miningMethods(dev, deps.blockJson),
    ...tokenMethods(deps),
    ...stateMethods(dev, chain),
    ...chainMethods({ ...deps, send }),
    ...dumpMethods(dev, chain, store, () => dev.headEdits),
    ...ofAccounts,
  };
  const aliases = Object.entries(ALIASES).flatMap(([name, others]) => {
    const own = methods[name];
    return own === undefined ? [] : others.map((other) => [other, own] as const);
  });
  return Object.fromEntries([...Object.entries(methods), ...aliases].map(([name, own]) => [name, inWords(own)]));
}

/** Turns a `DevError` or a `ShapeError` into an RPC error with its text. */
function inWords(own: ApiMethod): ApiMethod {
  if (own.runs !== "writer") return own;
  const { handler } = own;
  const refused = (error: unknown): never => {
    if (error instanceof ShapeError) throw new RpcError(INVALID_PARAMS, error.message);
    throw toRpcError(error, { only: "dev/" });
  };
  return {
    ...own,
    handler: (args: readonly unknown[], writer: WriteServices) => {
      try {
        const result = handler(args, writer);
        return result instanceof Promise ? result.catch(refused) : result;
      } catch (error) {
        return refused(error);
      }
    },
  };
}

import type { BlockExecution } from "@rnode/evm";
import { asciiToBytes, bytesToHex, equalBytes, hexToBytes } from "@rnode/primitives";
import type { ChainConfig, Header } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";

const DAO_EXTRA_DATA = asciiToBytes("dao-hard-fork");
const EXTRA_DATA_BLOCKS = 10;
const REFUND_CONTRACT = hexToBytes("0xbf4ed7b27f1d666546e30d74d50d173d20bca754");

/** The fork's block and the nine blocks after it carry its mark; blocks of a chain that did not fork must not. Spec: EIP-779 */
export function checkDaoExtraData(
  config: ChainConfig,
  { number, extraData }: Pick<Header, "number" | "extraData">,
): BlockFault | undefined {
  const { daoForkBlock, daoForkSupport } = config;
  if (daoForkBlock === undefined || number < daoForkBlock || number >= daoForkBlock + EXTRA_DATA_BLOCKS) return undefined;
  if (equalBytes(extraData, DAO_EXTRA_DATA) === (daoForkSupport === true)) return undefined;
  return blockFault("dao-extra-data", { number, extraData: bytesToHex(extraData) });
}

/** Moves the balances to the refund contract, before the block's first transaction. Spec: EIP-779 */
export function applyDaoFork(execution: BlockExecution, accounts: readonly Uint8Array[]): void {
  let total = execution.getBalance(REFUND_CONTRACT);
  for (const account of accounts) {
    total += execution.getBalance(account);
    execution.setBalance(account, 0n);
  }
  execution.setBalance(REFUND_CONTRACT, total);
}

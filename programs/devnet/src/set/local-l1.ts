import { numberToHex } from "viem";
import { DEV_BALANCE, devAccounts } from "../accounts.ts";
import type { DevnetInfo } from "../files.ts";
import { rpcCall } from "../rpc.ts";

// What further chains need of an L1 that the devnet itself runs.

const ROLES = 5;
const PORTAL_ACCOUNTS = 10n;

export const setL1BlockTime = ({ endpoints }: DevnetInfo, seconds: number): Promise<unknown> =>
  rpcCall(endpoints.l1, "evm_setIntervalMining", [seconds]);

/** Gives the accounts with a role of a chain what those of the first chain have. */
export async function fundRoles({ endpoints }: DevnetInfo, firstRole: number): Promise<void> {
  for (const { address } of devAccounts(ROLES, undefined, firstRole)) {
    await rpcCall(endpoints.l1, "anvil_setBalance", [address, numberToHex(DEV_BALANCE)]);
  }
}

/** The ether of the chain's genesis was never deposited: withdrawals need it. */
export async function fundPortal({ endpoints }: DevnetInfo, { contracts }: DevnetInfo): Promise<void> {
  const { OptimismPortal: portal } = contracts.l1;
  if (BigInt(await rpcCall<string>(endpoints.l1, "eth_getBalance", [portal, "latest"])) > 0n) return;
  await rpcCall(endpoints.l1, "anvil_setBalance", [portal, numberToHex(DEV_BALANCE * PORTAL_ACCOUNTS)]);
}

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { UserError } from "@rnode/program";
import { createWalletClient, formatEther, type Hex, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { DevRoles } from "../accounts.ts";
import type { ChainParameters } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import { bareL1Chain } from "../viem-chains.ts";
import { type ExternalL1, reasonOf } from "./external-l1.ts";

const RECEIPT_TIMEOUT_MS = 90_000;
const POLL_MS = 500;
const DEFAULT_TIP_WEI = 10n ** 9n;
/** The whole deployment, and a good time of batches and outputs. */
const OWNER_GAS = 60_000_000n;
const SUBMITTER_GAS = 10_000_000n;
/** Games hold their bonds until they are resolved. */
const BONDS_WEI = 10n ** 18n;

export interface Prices {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** Enough for the next few blocks. */
export async function pricesNow(url: string): Promise<Prices> {
  const [head, tip] = await Promise.all([
    rpcCall<{ baseFeePerGas?: Hex }>(url, "eth_getBlockByNumber", ["latest", false]),
    rpcCall<Hex>(url, "eth_maxPriorityFeePerGas").then(BigInt, () => DEFAULT_TIP_WEI),
  ]);
  return { maxFeePerGas: 2n * BigInt(head.baseFeePerGas ?? "0x0") + tip, maxPriorityFeePerGas: tip };
}

/**
 * Ensures that the accounts which send L1 transactions can pay for them. The funder sends the missing amounts.
 *
 * @param funderKeyFile undefined: there is no funder
 * @throws {UserError} the accounts with their missing amounts, and the remedy
 */
export async function requireFunds(
  { url }: ExternalL1,
  roles: DevRoles,
  { l1ChainId, proofs }: ChainParameters,
  funderKeyFile: string | undefined,
): Promise<void> {
  const { maxFeePerGas } = await pricesNow(url);
  const needs = [
    { who: "owner", address: roles.owner.address, wei: OWNER_GAS * maxFeePerGas },
    { who: "batcher", address: roles.batcher.address, wei: SUBMITTER_GAS * maxFeePerGas },
    { who: "proposer", address: roles.proposer.address, wei: SUBMITTER_GAS * maxFeePerGas + (proofs === "games" ? BONDS_WEI : 0n) },
    ...(proofs === "games"
      ? [{ who: "challenger (who resolves games)", address: roles.challenger.address, wei: SUBMITTER_GAS * maxFeePerGas }]
      : []),
  ];
  const balances = await Promise.all(
    needs.map(({ address }) => rpcCall<Hex>(url, "eth_getBalance", [address, "latest"]).then(BigInt)),
  );
  const poor = needs.flatMap((need, index) => (balances[index]! < need.wei ? [{ ...need, has: balances[index]! }] : []));
  if (poor.length === 0) return;
  const lacks = poor
    .map(({ who, address, wei, has }) => `${who} ${address} has ${formatEther(has)} of ${formatEther(wei)} ether`)
    .join(", ");
  if (funderKeyFile === undefined)
    throw new UserError(
      `the L1 accounts of the devnet lack ether: ${lacks}; send it to them, or let --l1-funder-key-file pay (where others can reach this L1, with --mnemonic-file: the test mnemonic is public)`,
    );
  const key = readFunderKey(funderKeyFile);
  const funder = createWalletClient({
    account: privateKeyToAccount(key),
    chain: bareL1Chain(l1ChainId, url),
    transport: http(url),
  });
  for (const { address, wei, has, who } of poor) {
    try {
      const hash = await funder.sendTransaction({ to: address, value: wei - has });
      await receiptOf(url, hash);
    } catch (cause) {
      throw new UserError(
        `--l1-funder-key-file ${funderKeyFile}: its account ${funder.account.address} cannot pay ${formatEther(wei - has)} ether to ${who} ${address}: ${reasonOf(cause)}`,
      );
    }
  }
}

function readFunderKey(path: string): Hex {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (cause) {
    throw new UserError(`--l1-funder-key-file ${path} cannot be read: ${(cause as Error).message}`);
  }
  if (!/^(?:0x)?[0-9a-fA-F]{64}$/.test(text))
    throw new UserError(`--l1-funder-key-file ${path} has no private key in it: expected 32 bytes in hex`);
  return text.startsWith("0x") ? (text as Hex) : `0x${text}`;
}

export interface Receipt {
  readonly status: Hex;
  readonly blockNumber: Hex;
  readonly blockHash: Hex;
}

/** Waits for it. @throws an error: it is not in a block in time */
export async function receiptOf(url: string, hash: Hex, signal?: AbortSignal): Promise<Receipt> {
  const deadlineMs = performance.now() + RECEIPT_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    signal?.throwIfAborted();
    const receipt = await rpcCall<Receipt | null>(url, "eth_getTransactionReceipt", [hash]);
    if (receipt !== null) return receipt;
    await sleep(POLL_MS);
  }
  throw new UserError(
    `L1 transaction ${hash} was not mined within ${RECEIPT_TIMEOUT_MS / 1000} s: does ${url} make blocks, and is its pool not full?`,
  );
}

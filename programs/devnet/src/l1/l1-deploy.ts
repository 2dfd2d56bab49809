import { systemClock, UserError } from "@rnode/program";
import { createWalletClient, type Hex, http, numberToHex, size } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { DEV_BALANCE, type DevRoles } from "../accounts.ts";
import type { ChainParameters } from "../parameters.ts";
import { rpcCall } from "../rpc.ts";
import { bareL1Chain } from "../viem-chains.ts";
import type { Preinstall } from "./contracts.ts";
import type { DeployStep } from "./deploy-plan.ts";
import type { DeployPlan } from "./l1-contracts.ts";
import { pricesNow, type Receipt, receiptOf } from "./l1-funds.ts";

/** The L1 block in which the deployment was completed: the rollup's genesis on L1. */
export interface L1Genesis {
  readonly hash: Hex;
  readonly number: number;
  readonly timestampSec: number;
}

interface RpcReceipt {
  readonly status: Hex;
  readonly blockNumber: Hex;
}

/** Enough for the largest contract (24 KB of code) with its constructor; unused gas is refunded. */
const GAS_PER_STEP = 9_000_000n;
/** The number of accounts with ether in the L2 genesis. */
const PORTAL_ACCOUNTS = 10n;
const MAX_FEE_PER_GAS = 20_000_000_000n;
/** The pool includes a sender's transactions in order; this many blocks are certainly enough for all steps. */
const MAX_DEPLOY_BLOCKS = 20;

/**
 * Sends the deployment and mines it by hand: anvil must have been started with `--no-mining` and a genesis time in the past.
 * `multicall` is the contract that viem and others expect on every chain.
 * @throws an error that names the step that reverted
 */
export async function deployL1(
  url: string,
  plan: DeployPlan,
  roles: DevRoles,
  parameters: ChainParameters,
  multicall: Preinstall | undefined,
): Promise<L1Genesis> {
  // The key of its deployer is unknown, so on a development L1 its code is set directly.
  if (multicall) await rpcCall(url, "anvil_setCode", [multicall.address, multicall.code]);
  // The ether of the L2 genesis was never deposited. Withdrawals from an empty portal would be finalized without payment.
  await rpcCall(url, "anvil_setBalance", [plan.addresses.OptimismPortal, numberToHex(DEV_BALANCE * PORTAL_ACCOUNTS)]);
  const wallet = createWalletClient({
    account: privateKeyToAccount(roles.owner.privateKey),
    chain: bareL1Chain(parameters.l1ChainId, url),
    transport: http(url),
  });
  const sent: { step: DeployStep; hash: Hex }[] = [];
  const send = async (step: DeployStep): Promise<void> => {
    const serialized = await wallet.signTransaction({
      type: "eip1559",
      nonce: sent.length,
      gas: GAS_PER_STEP,
      maxFeePerGas: MAX_FEE_PER_GAS,
      maxPriorityFeePerGas: 0n,
      data: step.data,
      ...(step.to === undefined ? {} : { to: step.to }),
    });
    sent.push({ step, hash: await rpcCall<Hex>(url, "eth_sendRawTransaction", [serialized]) });
  };

  for (const step of plan.steps) await send(step);
  for (let mined = 0; !(await isPoolEmpty(url)); mined++) {
    if (mined >= MAX_DEPLOY_BLOCKS) throw new Error("the L1 deployment does not fit into its blocks");
    await rpcCall(url, "evm_mine");
  }
  // The L2 begins at the time of the block that completes the deployment.
  const previous = await rpcCall<{ timestamp: Hex }>(url, "eth_getBlockByNumber", ["latest", false]);
  const timestampSec = Math.max(Math.floor(systemClock.unixMs() / 1000), Number(previous.timestamp) + 1);
  await rpcCall(url, "evm_setNextBlockTimestamp", [numberToHex(timestampSec)]);
  await send(plan.lastStep(timestampSec));
  await rpcCall(url, "evm_mine");

  for (const { step, hash } of sent) {
    const receipt = await rpcCall<RpcReceipt | null>(url, "eth_getTransactionReceipt", [hash]);
    if (receipt?.status !== "0x1") throw new Error(`L1 deployment: "${step.what}" ${receipt ? "reverted" : "was not mined"}`);
  }
  const block = await rpcCall<{ hash: Hex; number: Hex; timestamp: Hex }>(url, "eth_getBlockByNumber", ["latest", false]);
  return { hash: block.hash, number: Number(block.number), timestampSec: Number(block.timestamp) };
}

async function isPoolEmpty(url: string): Promise<boolean> {
  const { pending, queued } = await rpcCall<{ pending: Hex; queued: Hex }>(url, "txpool_status");
  return Number(pending) === 0 && Number(queued) === 0;
}

/** Maximum number of steps in the pool: pools accept few transactions of one account. */
const STEPS_AT_ONCE = 12;

/** Gas limit of a step: creations pay for each byte of code, calls initialize contracts. */
const gasLimitOf = ({ to, data }: DeployStep): bigint =>
  to === undefined ? 600_000n + 280n * BigInt(size(data)) : 2_000_000n + 100n * BigInt(size(data));

/**
 * Sends the deployment to an L1 that makes its own blocks, and waits for it. The L2 begins with the block that everything but the last step
 * is in, which says when the L2 began, and can therefore only follow.
 * @throws {UserError} the step that reverted, or that was not mined in time
 */
export async function deployToRunningL1(
  url: string,
  plan: DeployPlan,
  roles: DevRoles,
  { l1ChainId }: ChainParameters,
  { firstNonce, signal, log }: { readonly firstNonce: number; readonly signal: AbortSignal; readonly log: (line: string) => void },
): Promise<L1Genesis> {
  const chain = bareL1Chain(l1ChainId, url);
  const wallet = createWalletClient({ account: privateKeyToAccount(roles.owner.privateKey), chain, transport: http(url) });
  let nonce = firstNonce;
  const sendAll = async (steps: readonly DeployStep[]): Promise<Receipt> => {
    const prices = await pricesNow(url);
    const sent: { step: DeployStep; hash: Hex }[] = [];
    for (const step of steps) {
      const { to, data } = step;
      const request = { type: "eip1559", nonce: nonce++, gas: gasLimitOf(step), ...prices, data, ...(to && { to }) } as const;
      sent.push({ step, hash: await rpcCall<Hex>(url, "eth_sendRawTransaction", [await wallet.signTransaction(request)]) });
    }
    let last: Receipt | undefined;
    for (const { step, hash } of sent) {
      last = await receiptOf(url, hash, signal);
      if (last.status !== "0x1") throw new UserError(`L1 deployment: "${step.what}" reverted in transaction ${hash}`);
    }
    return last!;
  };
  let last: Receipt | undefined;
  for (let at = 0; at < plan.steps.length; at += STEPS_AT_ONCE) {
    last = await sendAll(plan.steps.slice(at, at + STEPS_AT_ONCE));
    log(`contracts on L1: ${Math.min(at + STEPS_AT_ONCE, plan.steps.length)} of ${plan.steps.length + 1} steps are done`);
  }
  const block = await rpcCall<{ hash: Hex; number: Hex; timestamp: Hex }>(url, "eth_getBlockByHash", [last!.blockHash, false]);
  const timestampSec = Number(block.timestamp);
  await sendAll([plan.lastStep(timestampSec)]);
  return { hash: block.hash, number: Number(block.number), timestampSec };
}

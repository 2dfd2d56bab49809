import { setTimeout as sleep } from "node:timers/promises";
import { errorText } from "@rnode/observe";
import { UserError } from "@rnode/program";
import type { Hex } from "viem";
import type { DevnetInfo } from "../files.ts";
import { rpcCall } from "../rpc.ts";
import type { BlobSchedule } from "./l1-chain-config.ts";

/** An L1 that the devnet does not run. */
export interface ExternalL1 {
  /** JSON-RPC */
  readonly url: string;
  /** undefined: batches are calldata */
  readonly beacon: string | undefined;
}

export interface ExternalL1Facts {
  readonly chainId: number;
  /** between its latest blocks, rounded up */
  readonly blockTimeSec: number;
  /** from `eth_config`; undefined: it does not serve that method */
  readonly blobSchedule: BlobSchedule | undefined;
}

interface RpcBlock {
  readonly number: Hex;
  readonly hash: Hex;
  readonly timestamp: Hex;
  readonly baseFeePerGas?: Hex;
  readonly blobGasUsed?: Hex;
}

const MAINNET = 1;
const BLOCK_TIMEOUT_MS = 90_000;
const POLL_MS = 500;
/** From which the block time is computed. */
const MEASURED_BLOCKS = 8;

const nameOf = ({ url }: ExternalL1): string => `--l1 ${url}`;

/** @throws {UserError} it cannot be the L1 of a devnet */
export async function inspectExternalL1(l1: ExternalL1): Promise<ExternalL1Facts> {
  const what = nameOf(l1);
  const chainId = await chainIdOf(l1);
  if (chainId === MAINNET)
    throw new UserError(
      `${what} is Ethereum's main network: a devnet there would cost real money; give a test network or a chain of your own`,
    );
  const head = await rpcCall<RpcBlock>(l1.url, "eth_getBlockByNumber", ["latest", false]);
  if (head.blobGasUsed === undefined)
    throw new UserError(
      `${what}: chain ${chainId} has not reached Cancun, whose rules the contracts need; start it with a later fork`,
    );
  const beacon = l1.beacon && (await beaconChainId(l1.beacon));
  if (beacon !== undefined && beacon !== "" && beacon !== chainId)
    throw new UserError(
      `--l1-beacon ${l1.beacon} is a beacon node of chain ${beacon}, but ${what} is chain ${chainId}: give the beacon node of that chain`,
    );
  return { chainId, blockTimeSec: await blockTimeOf(l1, head), blobSchedule: await blobScheduleOf(l1) };
}

async function chainIdOf(l1: ExternalL1): Promise<number> {
  try {
    return Number(await rpcCall<Hex>(l1.url, "eth_chainId"));
  } catch (cause) {
    throw new UserError(`${nameOf(l1)} does not answer (${reasonOf(cause)}): give the JSON-RPC endpoint of a running L1`);
  }
}

/** undefined: the endpoint does not report it */
async function beaconChainId(url: string): Promise<number | undefined> {
  const get = async (path: string): Promise<unknown> => {
    const response = await fetch(new URL(path, url.endsWith("/") ? url : `${url}/`), { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`HTTP status ${response.status}`);
    return await response.json();
  };
  try {
    await get("eth/v1/beacon/genesis");
    const { data } = (await get("eth/v1/config/spec")) as { readonly data: { readonly DEPOSIT_CHAIN_ID?: string } };
    return data.DEPOSIT_CHAIN_ID === undefined ? undefined : Number(data.DEPOSIT_CHAIN_ID);
  } catch (cause) {
    throw new UserError(
      `--l1-beacon ${url} does not answer as a beacon node (${reasonOf(cause)}): give the HTTP API of one, or leave it out for batches in calldata`,
    );
  }
}

/** Waits for a block of a chain that has none yet. */
async function blockTimeOf(l1: ExternalL1, head: RpcBlock): Promise<number> {
  const next = Number(head.number) > 0 ? head : await nextBlock(l1, head);
  const from = Math.max(0, Number(next.number) - MEASURED_BLOCKS);
  // a genesis block may be much older than the chain
  const first = await rpcCall<RpcBlock>(l1.url, "eth_getBlockByNumber", [`0x${Math.max(1, from).toString(16)}`, false]);
  const blocks = Number(next.number) - Number(first.number);
  if (blocks === 0) return Math.max(1, Number((await nextBlock(l1, next)).timestamp) - Number(next.timestamp));
  return Math.max(1, Math.ceil((Number(next.timestamp) - Number(first.timestamp)) / blocks));
}

async function nextBlock(l1: ExternalL1, { number }: RpcBlock): Promise<RpcBlock> {
  const deadlineMs = performance.now() + BLOCK_TIMEOUT_MS;
  while (performance.now() < deadlineMs) {
    const head = await rpcCall<RpcBlock>(l1.url, "eth_getBlockByNumber", ["latest", false]);
    if (Number(head.number) > Number(number)) return head;
    await sleep(POLL_MS);
  }
  throw new UserError(
    `${nameOf(l1)} made no block within ${BLOCK_TIMEOUT_MS / 1000} s: the devnet needs an L1 that makes blocks by itself (rengine --dev --dev.block-time=2s, anvil --block-time 2)`,
  );
}

interface ForkConfig {
  readonly activationTime: number;
  readonly blobSchedule?: { readonly target: number; readonly max: number; readonly baseFeeUpdateFraction: number };
}

/** By `eth_config` (EIP-7910), as one fork that is active now and one that is scheduled. */
async function blobScheduleOf({ url }: ExternalL1): Promise<BlobSchedule | undefined> {
  try {
    const { current, next } = await rpcCall<{ readonly current: ForkConfig; readonly next: ForkConfig | null }>(url, "eth_config");
    if (current.blobSchedule === undefined) return undefined;
    const later = next?.blobSchedule && { activationTimeSec: next.activationTime, params: next.blobSchedule };
    return { current: current.blobSchedule, ...(later && { next: later }) };
  } catch {
    return undefined;
  }
}

/** Whether the devnet's chain still lives there. @throws {UserError} */
export async function requireSameL1(l1: ExternalL1, { l1ChainId, genesis }: DevnetInfo): Promise<void> {
  const chainId = await chainIdOf(l1);
  if (chainId !== l1ChainId)
    throw new UserError(
      `${nameOf(l1)} is chain ${chainId}, but this devnet's L1 is chain ${l1ChainId}: give an endpoint of that chain, or start with --fresh for a new one`,
    );
  const block = await rpcCall<RpcBlock | null>(l1.url, "eth_getBlockByNumber", [`0x${genesis.l1.number.toString(16)}`, false]);
  if (block?.hash !== genesis.l1.hash)
    throw new UserError(
      `${nameOf(l1)} does not have L1 block ${genesis.l1.number} ${genesis.l1.hash}, which this devnet's chain begins with: that L1 was started anew; start with --fresh for a new chain`,
    );
}

/** The reason in one line, without the additions of the HTTP client. */
export const reasonOf = (error: unknown): string => {
  const { cause, shortMessage } = error as { readonly cause?: unknown; readonly shortMessage?: string };
  return shortMessage ?? (cause instanceof Error && cause.message !== "" ? cause.message : errorText(error));
};

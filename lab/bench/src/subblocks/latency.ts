import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { type Devnet, rpcCall, startDevnet } from "@rnode/devnet";
import { silentLogger } from "@rnode/observe";
import { Scope, systemClock } from "@rnode/program";
import { type Hex, keccak256, parseEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { quantile } from "./load.ts";

const POLL_MS = 2;
const LIMIT_MS = 30_000;
/** Transactions are sent at any time between two parts. */
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [50, 450];
const WARM_UP = 10;

interface Waits {
  readonly receipt: number[];
  readonly block: number[];
}

async function measure(hasSubblocks: boolean, transactions: number): Promise<Waits> {
  const datadir = mkdtempSync(join(tmpdir(), "rnode-bench-subblocks-"));
  const scope = new Scope({ log: silentLogger, clock: systemClock });
  try {
    const { info } = await startDevnet(scope, { datadir, basePort: 0, nodes: 3, subblocks: hasSubblocks });
    const waits: Waits = { receipt: [], block: [] };
    for (let nonce = 0; nonce < WARM_UP + transactions; nonce++) {
      await pause(LEAST_PAUSE_MS + Math.random() * (MOST_PAUSE_MS - LEAST_PAUSE_MS));
      const { receiptMs, blockMs } = await sendOne(info, nonce);
      if (nonce < WARM_UP) continue;
      waits.receipt.push(receiptMs);
      waits.block.push(blockMs);
    }
    return waits;
  } finally {
    await scope.close();
    rmSync(datadir, { recursive: true, force: true });
  }
}

async function sendOne(
  { endpoints, accounts, l2ChainId }: Devnet["info"],
  nonce: number,
): Promise<{ receiptMs: number; blockMs: number }> {
  const { sequencer } = endpoints;
  const follower = endpoints.follower!;
  const account = privateKeyToAccount(accounts[5]!.privateKey);
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 6n, gas: 21_000n } as const;
  const raw = await account.signTransaction({
    ...{ type: "eip1559", chainId: l2ChainId, nonce, to: account.address, value: parseEther("0.001") },
    ...fees,
  });
  const hash = keccak256(raw);
  const startMs = performance.now();
  const since = async (isThere: () => Promise<boolean>): Promise<number> => {
    while (!(await isThere())) {
      if (performance.now() - startMs > LIMIT_MS) throw new Error(`transaction ${hash} has no block after ${LIMIT_MS / 1000} s`);
      await pause(POLL_MS);
    }
    return performance.now() - startMs;
  };
  await rpcCall(sequencer.http, "eth_sendRawTransaction", [raw]);
  let number = 0;
  const receiptMs = await since(async () => {
    const receipt = await rpcCall<{ readonly blockNumber: Hex } | null>(follower.http, "eth_getTransactionReceipt", [hash]);
    if (receipt !== null) number = Number(receipt.blockNumber);
    return receipt !== null;
  });
  const blockMs = await since(async () => Number(await rpcCall<Hex>(follower.http, "eth_blockNumber")) >= number);
  return { receiptMs, blockMs };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * The time from eth_sendRawTransaction at a devnet's sequencer until a follower of the stream answers the receipt, and until it has the block;
 * then the same without subblocks.
 */
export async function measureLatency(transactions: number): Promise<string> {
  const lines: string[] = [];
  for (const hasSubblocks of [true, false]) {
    const { receipt, block } = await measure(hasSubblocks, transactions);
    lines.push(
      `${hasSubblocks ? "with subblocks of 200 ms" : "without"}, ${receipt.length} transactions; load ${loadavg()[0]!.toFixed(1)}`,
    );
    lines.push(`  receipt at the follower: ${distribution(receipt)}`, `  its block:               ${distribution(block)}`);
  }
  return lines.join("\n");
}

function distribution(values: readonly number[]): string {
  const at = (share: number): string => quantile(values, share).toFixed(0);
  return `p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms, most ${at(1)} ms`;
}

import { type ChildProcess, spawn } from "node:child_process";
import { anvilBinary } from "@rnode/devnet";
import { bytesToHex } from "@rnode/primitives";
import { Pool } from "undici";
import { freePort } from "./free-port.ts";
import type { GeneratedChain } from "./import-generate.ts";
import { timestampOf } from "./import-generate.ts";
import { processUsage } from "./process-usage.ts";

export interface AnvilRun {
  /** of `evm_mine` alone: the transactions are in the pool, their signatures recovered */
  readonly mineMs: number;
  /** CPU time of the same */
  readonly mineCpuMs: number;
  /** of handing the transactions over */
  readonly sendMs: number;
  readonly blocks: number;
  readonly rssBytes: number;
}

const STARTUP_ATTEMPTS = 3000;
const ATTEMPT_PAUSE_MS = 100;
const BATCH = 250;

/**
 * Mines the first `blocks` blocks of the chain's transactions with anvil, in memory.
 *
 * @throws Error when a state root is not the chain's: both must have done the same work
 */
export async function mineWithAnvil(chain: GeneratedChain, blocks: number): Promise<AnvilRun> {
  const port = await freePort();
  const args = ["--port", String(port), "--silent", "--no-mining", "--order", "fifo", "--accounts", "0"];
  const anvil: ChildProcess = spawn(
    anvilBinary(),
    [...args, "--hardfork", "cancun", "--init", chain.genesisFile, "--no-request-size-limit"],
    { stdio: ["ignore", "ignore", "inherit"] },
  );
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1, bodyTimeout: 0, headersTimeout: 0 });
  const post = async (body: unknown): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    const response = await pool.request({ path: "/", method: "POST", headers, body: JSON.stringify(body) });
    return await response.body.json();
  };
  const call = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const answer = (await post({ jsonrpc: "2.0", id: 1, method, params })) as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`anvil: ${method}: ${answer.error.message}`);
    return answer.result;
  };
  try {
    for (let attempt = 0; ; attempt++) {
      try {
        await call("eth_chainId", []);
        break;
      } catch (error) {
        if (anvil.exitCode !== null || attempt === STARTUP_ATTEMPTS) throw new Error("anvil does not start", { cause: error });
        await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
      }
    }
    let mineMs = 0;
    let mineCpuMs = 0;
    const cpuMs = (): number => (processUsage(anvil.pid!)?.cpuSec ?? 0) * 1000;
    let sendMs = 0;
    for (let block = 0; block < blocks; block++) {
      let startMs = performance.now();
      const raw = chain.transactions[block]!;
      for (let from = 0; from < raw.length; from += BATCH) {
        const requests = raw.slice(from, from + BATCH).map((transaction, index) => ({
          jsonrpc: "2.0",
          id: index,
          method: "eth_sendRawTransaction",
          params: [bytesToHex(transaction)],
        }));
        const answers = (await post(requests)) as { error?: { message: string } }[];
        const refused = answers.find(({ error }) => error !== undefined);
        if (refused !== undefined) throw new Error(`anvil: eth_sendRawTransaction: ${refused.error!.message}`);
      }
      sendMs += performance.now() - startMs;
      await call("evm_setNextBlockTimestamp", [timestampOf(block + 1)]);
      const cpuBefore = cpuMs();
      startMs = performance.now();
      await call("evm_mine", []);
      mineMs += performance.now() - startMs;
      mineCpuMs += cpuMs() - cpuBefore;
    }
    const last = (await call("eth_getBlockByNumber", ["latest", false])) as { transactions: unknown[]; number: string };
    if (last.transactions.length !== chain.plan.transactionsPerBlock || Number(last.number) !== blocks) {
      throw new Error(`anvil: block ${last.number} has ${last.transactions.length} transactions`);
    }
    return { mineMs, mineCpuMs, sendMs, blocks, rssBytes: processUsage(anvil.pid!)?.rssBytes ?? 0 };
  } finally {
    void pool.destroy();
    anvil.kill("SIGKILL");
  }
}

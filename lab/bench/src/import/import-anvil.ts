import { type ChildProcess, spawn } from "node:child_process";
import { anvilBinary } from "@rnode/devnet";
import { bytesToHex } from "@rnode/primitives";
import { freePort } from "@rnode/program/testing";
import { Pool } from "undici";
import { processUsage } from "../common/process-usage.ts";
import type { GeneratedChain } from "./import-generate.ts";
import { timestampOf } from "./import-generate.ts";

/** The time that mining some blocks took. */
export interface AnvilRun {
  readonly blocks: number;
  /** of `evm_mine` alone: the transactions are already in the pool, their signatures recovered */
  readonly mineMs: number;
  readonly mineCpuMs: number;
  /** of sending the transactions to the pool */
  readonly takeMs: number;
  readonly takeCpuMs: number;
}

const STARTUP_ATTEMPTS = 3000;
const ATTEMPT_PAUSE_MS = 100;
const BATCH = 250;

/** Mines a chain's transactions with anvil, block by block, in memory and from the same genesis. */
export class AnvilMiner {
  readonly #anvil: ChildProcess;
  readonly #pool: Pool;
  readonly #chain: GeneratedChain;
  #mined = 0;

  private constructor(chain: GeneratedChain, port: number) {
    this.#chain = chain;
    const args = ["--port", String(port), "--silent", "--no-mining", "--order", "fifo", "--accounts", "0"];
    this.#anvil = spawn(anvilBinary(), [...args, "--hardfork", "cancun", "--init", chain.genesisFile, "--no-request-size-limit"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    this.#pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1, bodyTimeout: 0, headersTimeout: 0 });
  }

  /** Resolves when anvil answers, which takes a while with a large genesis. */
  static async start(chain: GeneratedChain): Promise<AnvilMiner> {
    const miner = new AnvilMiner(chain, await freePort());
    for (let attempt = 0; ; attempt++) {
      try {
        await miner.#call("eth_chainId", []);
        return miner;
      } catch (error) {
        if (miner.#anvil.exitCode !== null || attempt === STARTUP_ATTEMPTS) {
          miner.close();
          throw new Error("anvil does not start", { cause: error });
        }
        await new Promise((resolve) => setTimeout(resolve, ATTEMPT_PAUSE_MS));
      }
    }
  }

  /**
   * Continues with the chain's next blocks until `maxMs` have passed or the chain ends.
   *
   * @throws Error if a block's transactions or gas differ from the chain's: both must do the same work
   */
  async mine(maxMs: number): Promise<AnvilRun> {
    const run = { blocks: 0, mineMs: 0, mineCpuMs: 0, takeMs: 0, takeCpuMs: 0 };
    const { transactions } = this.#chain;
    while (this.#mined < transactions.length && run.mineMs + run.takeMs < maxMs) {
      const raw = transactions[this.#mined]!;
      // Its gas limit is different, so its base fee would exceed the fee caps in long chains.
      await this.#call("anvil_setNextBlockBaseFeePerGas", ["0x3b9aca00"]);
      let cpuBeforeMs = this.#cpuMs();
      let startMs = performance.now();
      await this.#take(raw);
      run.takeMs += performance.now() - startMs;
      run.takeCpuMs += this.#cpuMs() - cpuBeforeMs;
      this.#mined++;
      await this.#call("evm_setNextBlockTimestamp", [timestampOf(this.#mined)]);
      cpuBeforeMs = this.#cpuMs();
      startMs = performance.now();
      await this.#call("evm_mine", []);
      run.mineMs += performance.now() - startMs;
      run.mineCpuMs += this.#cpuMs() - cpuBeforeMs;
      run.blocks++;
      await this.#assertSame(raw.length);
    }
    return run;
  }

  get rssBytes(): number {
    return processUsage(this.#anvil.pid!)?.rssBytes ?? 0;
  }

  close(): void {
    void this.#pool.destroy();
    this.#anvil.kill("SIGKILL");
  }

  #cpuMs(): number {
    return (processUsage(this.#anvil.pid!)?.cpuSec ?? 0) * 1000;
  }

  async #take(raw: readonly Uint8Array[]): Promise<void> {
    for (let from = 0; from < raw.length; from += BATCH) {
      const requests = raw.slice(from, from + BATCH).map((transaction, index) => ({
        jsonrpc: "2.0",
        id: index,
        method: "eth_sendRawTransaction",
        params: [bytesToHex(transaction)],
      }));
      const answers = (await this.#post(requests)) as { error?: { message: string } }[];
      const refused = answers.find(({ error }) => error !== undefined);
      if (refused !== undefined) throw new Error(`anvil: eth_sendRawTransaction: ${refused.error!.message}`);
    }
  }

  async #assertSame(transactionCount: number): Promise<void> {
    const block = (await this.#call("eth_getBlockByNumber", ["latest", false])) as {
      transactions: unknown[];
      number: string;
      gasUsed: string;
    };
    const expectedGas = this.#chain.gasUsed[this.#mined - 1]!;
    if (
      block.transactions.length !== transactionCount ||
      Number(block.number) !== this.#mined ||
      Number(block.gasUsed) !== expectedGas
    ) {
      throw new Error(
        `anvil: block ${block.number} has ${block.transactions.length} transactions and ${block.gasUsed} gas, not ${expectedGas}`,
      );
    }
  }

  async #post(body: unknown): Promise<unknown> {
    const headers = { "content-type": "application/json" };
    const response = await this.#pool.request({ path: "/", method: "POST", headers, body: JSON.stringify(body) });
    return await response.body.json();
  }

  async #call(method: string, params: readonly unknown[]): Promise<unknown> {
    const body = await this.#post({ jsonrpc: "2.0", id: 1, method, params });
    const answer = body as { result?: unknown; error?: { message: string } };
    if (answer.error !== undefined) throw new Error(`anvil: ${method}: ${answer.error.message}`);
    return answer.result;
  }
}

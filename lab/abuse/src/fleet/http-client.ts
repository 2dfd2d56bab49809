import { Agent, request } from "node:http";
import { pause } from "../pause.ts";
import type { BlockJson, ReceiptJson, SeenChain } from "./seen-chain.ts";

/** One request of an honest client. */
export interface Answered {
  readonly atMs: number;
  readonly tookMs: number;
  /** failed or contradictory; `undefined`: as it should be */
  readonly fault: string | undefined;
}

export interface HttpClientOptions {
  readonly port: number;
  /** its own address, 127.0.0.0/8, by which the balancer knows it */
  readonly address: string;
  readonly intervalMs: number;
  readonly seen: SeenChain;
  /** hashes of transactions that somebody has sent */
  readonly transactions: () => readonly string[];
  readonly onAnswer: (answered: Answered) => void;
}

/** An answer that takes longer counts as failed. */
const TIMEOUT_MS = 15_000;

/** Asks one request after the other over kept connections, as a wallet does, and compares each answer with all before. */
export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #agent: Agent;
  readonly #ended: Promise<void>;
  #isClosed = false;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, localAddress: options.address });
    this.#ended = this.#run();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#ended;
    this.#agent.destroy();
  }

  async #run(): Promise<void> {
    const { intervalMs, transactions } = this.#options;
    for (let round = 0; !this.#isClosed; round++) {
      const all = transactions();
      await this.#number();
      await this.#block(undefined);
      await this.#block(this.#options.seen.newest);
      if (all.length > 0) await this.#receipt(all[round % all.length]!);
      await pause(intervalMs);
    }
  }

  #number(): Promise<void> {
    const { seen } = this.#options;
    return this.#ask("eth_blockNumber", [], (number) => seen.number("eth_blockNumber", Number(number)));
  }

  /** @param number `undefined`: the newest */
  #block(number: number | undefined): Promise<void> {
    const { seen } = this.#options;
    const label = number === undefined ? "latest" : `0x${number.toString(16)}`;
    return this.#ask("eth_getBlockByNumber", [label, false], (block) =>
      seen.block("eth_getBlockByNumber", block as BlockJson | null, number),
    );
  }

  #receipt(transaction: string): Promise<void> {
    const { seen } = this.#options;
    return this.#ask("eth_getTransactionReceipt", [transaction], (receipt) =>
      seen.receipt("eth_getTransactionReceipt", transaction, receipt as ReceiptJson | null),
    );
  }

  /** @param check compares the result with earlier ones */
  async #ask(method: string, params: readonly unknown[], check: (result: unknown) => string | undefined): Promise<void> {
    const { port, onAnswer } = this.#options;
    const atMs = performance.now();
    let fault: string | undefined;
    try {
      fault = check(await rpcOver(this.#agent, port, method, params));
    } catch (error) {
      fault = `${method}: ${String(error)}`;
    }
    onAnswer({ atMs, tookMs: performance.now() - atMs, fault });
  }
}

/** One JSON-RPC request. @throws its failure */
export function rpcOver(agent: Agent, port: number, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, method: "POST", headers, agent, timeout: TIMEOUT_MS }, (response) => {
      const parts: Buffer[] = [];
      response.on("data", (part: Buffer) => parts.push(part));
      response.on("error", reject);
      response.on("end", () => {
        const text = Buffer.concat(parts).toString("utf8");
        if (response.statusCode !== 200) return reject(new Error(`HTTP ${response.statusCode}: ${text.slice(0, 200)}`));
        const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } };
        if (error === undefined) resolve(result);
        else reject(new Error(error.message));
      });
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)));
    sent.on("error", reject);
    sent.end(body);
  });
}

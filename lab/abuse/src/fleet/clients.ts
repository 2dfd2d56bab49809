import { Agent } from "node:http";
import { encodeTransaction } from "@rnode/protocol";
import { toHex, transfer } from "../attacker/transfers.ts";
import { pause } from "../pause.ts";
import { type Answered, HttpClient, rpcOver } from "./http-client.ts";
import { SeenChain } from "./seen-chain.ts";
import { WsClient } from "./ws-client.ts";

export interface ClientsOptions {
  readonly port: number;
  readonly http: number;
  readonly ws: number;
  readonly intervalMs: number;
  readonly chainId: number;
  /** of an account that has ether */
  readonly privateKey: Uint8Array;
  readonly onFault: (fault: string) => void;
}

const SEND_EVERY_MS = 1000;
const MAX_TRANSACTIONS = 40;
/** How long the receipt of a transaction may take. */
const RECEIPT_LIMIT_MS = 60_000;

/** Honest clients of a fleet, each with an address of its own, and one that sends transactions. */
export class Clients {
  readonly answers: Answered[] = [];
  /** what a client was told that it should not have been */
  readonly faults: string[] = [];
  readonly #transactions: string[] = [];
  readonly #http: HttpClient[];
  readonly #ws: WsClient[];
  readonly #agent = new Agent({ keepAlive: true, localAddress: "127.0.2.1" });
  readonly #sending: Promise<void>;
  #isClosed = false;

  constructor(options: ClientsOptions) {
    const { port, http, ws, intervalMs, onFault } = options;
    const fault = (text: string): void => {
      this.faults.push(text);
      onFault(text);
    };
    this.#http = Array.from(
      { length: http },
      (_, at) =>
        new HttpClient({
          ...{ port, intervalMs, address: `127.0.1.${at + 1}`, seen: new SeenChain() },
          transactions: () => this.#transactions,
          onAnswer: (answered) => {
            this.answers.push(answered);
            if (answered.fault !== undefined) fault(answered.fault);
          },
        }),
    );
    this.#ws = Array.from(
      { length: ws },
      (_, at) => new WsClient({ port, address: `127.0.3.${at + 1}`, seen: new SeenChain(), onFault: fault }),
    );
    this.#sending = this.#send(options, fault);
  }

  /** @param fromMs including; @param toMs excluding: when the requests were sent */
  between(fromMs: number, toMs: number): readonly Answered[] {
    return this.answers.filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  }

  get counts(): { readonly transactions: number; readonly heads: number; readonly reconnects: number } {
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
    return {
      transactions: this.#sent,
      heads: sum(this.#ws.map(({ heads }) => heads)),
      reconnects: sum(this.#ws.map(({ reconnects }) => reconnects)),
    };
  }

  #sent = 0;

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const client of this.#ws) client.close();
    await Promise.all([this.#sending, ...this.#http.map((client) => client.close())]);
    this.#agent.destroy();
  }

  /** A transaction a second, whose receipt the sender waits for. */
  async #send({ port, chainId, privateKey }: ClientsOptions, fault: (text: string) => void): Promise<void> {
    for (let nonce = 0n; !this.#isClosed; nonce++) {
      const raw = toHex(encodeTransaction(transfer(chainId, privateKey, nonce)));
      try {
        const hash = (await rpcOver(this.#agent, port, "eth_sendRawTransaction", [raw])) as string;
        this.#sent++;
        await this.#receipt(port, hash, fault);
        this.#transactions.push(hash);
        if (this.#transactions.length > MAX_TRANSACTIONS) this.#transactions.shift();
      } catch (error) {
        fault(`eth_sendRawTransaction: ${String(error)}`);
      }
      await pause(SEND_EVERY_MS);
    }
  }

  async #receipt(port: number, hash: string, fault: (text: string) => void): Promise<void> {
    const deadlineMs = performance.now() + RECEIPT_LIMIT_MS;
    while ((await rpcOver(this.#agent, port, "eth_getTransactionReceipt", [hash])) === null) {
      if (this.#isClosed) return;
      if (performance.now() > deadlineMs) return fault(`${hash} has no receipt after ${RECEIPT_LIMIT_MS / 1000} s`);
      await pause(250);
    }
  }
}

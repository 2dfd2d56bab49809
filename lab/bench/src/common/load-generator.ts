import { Agent, request } from "node:http";
import { bytesToHex, hexToBytes, keccak256, privateKeyToAddress } from "@rnode/primitives";
import { encodeTransaction, type FeeMarketTransaction, signTransaction } from "@rnode/protocol";

export interface Sender {
  readonly privateKey: Uint8Array;
  readonly address: Uint8Array;
}

/** Keys derived from a word: the same in every run. */
export function makeSenders(count: number): Sender[] {
  return Array.from({ length: count }, (_, index) => {
    const privateKey = keccak256(new TextEncoder().encode(`rnode benchmark sender ${index}`));
    return { privateKey, address: privateKeyToAddress(privateKey) };
  });
}

export interface LoadOptions {
  readonly url: string;
  readonly chainId: bigint;
  readonly senders: readonly Sender[];
  /** the first nonce of each sender */
  readonly firstNonce: bigint;
  /** the maximum number of transactions that are accepted but not yet in a block */
  readonly maxWaiting: number;
  /** an ERC-20 that every sender holds: every other transaction transfers it, the rest transfer ether */
  readonly token: Uint8Array;
}

const TRANSFER_SELECTOR = hexToBytes("0xa9059cbb");
const REFUSED_PAUSE_MS = 100;

/** Sends signed transfers over HTTP, one request per sender at a time, as fast as they are accepted. */
export class LoadGenerator {
  accepted = 0;
  refused = 0;
  lastRefusal = "";
  /** updated by the caller, who counts them in blocks */
  included = 0;
  readonly #options: LoadOptions;
  readonly #agent: Agent;
  #running = true;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.senders.length });
  }

  /** Resolves after `stop`. */
  async run(): Promise<void> {
    await Promise.all(this.#options.senders.map((sender, index) => this.#runSender(sender, index)));
    this.#agent.destroy();
  }

  stop(): void {
    this.#running = false;
  }

  async #runSender(sender: Sender, index: number): Promise<void> {
    let nonce = this.#options.firstNonce;
    while (this.#running) {
      if (this.accepted - this.included >= this.#options.maxWaiting) {
        await pause(20);
        continue;
      }
      const raw = bytesToHex(encodeTransaction(this.#transaction(sender, nonce, index)));
      const answer = await this.#send(raw);
      if (answer.error === undefined) {
        this.accepted++;
        nonce++;
      } else {
        this.refused++;
        this.lastRefusal = answer.error.message;
        await pause(REFUSED_PAUSE_MS);
      }
    }
  }

  #transaction(sender: Sender, nonce: bigint, index: number): FeeMarketTransaction {
    const { chainId, token } = this.#options;
    // receivers spread over the state, as users do
    const receiver = keccak256(new TextEncoder().encode(`receiver ${index} ${nonce}`)).subarray(12);
    const moved =
      nonce % 2n === 0n
        ? { to: receiver, value: 1n, data: new Uint8Array(0), gasLimit: 21_000n }
        : { to: token, value: 0n, data: transferData(receiver), gasLimit: 80_000n };
    const unsigned: FeeMarketTransaction = {
      type: 0x02,
      chainId,
      nonce,
      maxPriorityFeePerGas: 1_000_000n,
      maxFeePerGas: 100_000_000_000n,
      accessList: [],
      ...moved,
    };
    return signTransaction(unsigned, sender.privateKey);
  }

  #send(raw: string): Promise<{ error?: { message: string } }> {
    const body = `{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["${raw}"]}`;
    const headers = { "content-type": "application/json", "content-length": body.length };
    return new Promise((resolve) => {
      const fail = (error: Error): void => resolve({ error: { message: error.message } });
      const outgoing = request(this.#options.url, { method: "POST", headers, agent: this.#agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", fail);
        response.on("end", () => {
          try {
            resolve(JSON.parse(Buffer.concat(chunks).toString("utf8")) as { error?: { message: string } });
          } catch (error) {
            fail(error as Error);
          }
        });
      });
      outgoing.on("error", fail);
      outgoing.end(body);
    });
  }
}

function transferData(receiver: Uint8Array): Uint8Array {
  const data = new Uint8Array(68);
  data.set(TRANSFER_SELECTOR, 0);
  data.set(receiver, 16);
  data[67] = 1;
  return data;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

import type { PendingFeed, Profile, SubmissionTerms, WriterAccess } from "@rnode/eth-api";
import { LIMIT_EXCEEDED, RpcError } from "@rnode/jsonrpc";
import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import { type Block, decodeBlock } from "@rnode/protocol";
import type { PooledTransaction } from "@rnode/txpool";
import { readSubmission } from "../pool/submission.ts";
import type { MessageToWriter, Outbox } from "./messages.ts";
import { requestText, resultOf } from "./routing.ts";

/** Requests of a reader that wait for other processes. */
const MAX_WAITING = 4096;

/** A reader's way to the writing process, and over it to other readers. */
export class WriterLink implements PendingFeed, WriterAccess {
  readonly #outbox: Pick<Outbox<MessageToWriter>, "push">;
  readonly #profile: Profile;
  readonly #feeCapWei: bigint;
  readonly #waiting = new Map<number, (answer: string | Uint8Array) => void>();
  readonly #listeners = new Set<(transactions: readonly PooledTransaction[]) => void>();
  /** settles when the writer has carried out the last watch message */
  #watching: Promise<void> | undefined;
  #nextId = 0;

  /** @param feeCapWei most that the gas of a transaction may cost; 0: no cap */
  constructor(outbox: Pick<Outbox<MessageToWriter>, "push">, profile: Profile, feeCapWei: bigint) {
    this.#outbox = outbox;
    this.#profile = profile;
    this.#feeCapWei = feeCapWei;
  }

  /** Sends a JSON-RPC request with the id 0. @param reader undefined: to the writer */
  async ask(text: string, reader?: number): Promise<string> {
    return (await this.#request((id) => ({ kind: "call", id, text, reader }))) as string;
  }

  /** @param answer to a call, or the hash of a transaction that the pool has taken */
  onAnswer(id: number, answer: string | Uint8Array): void {
    this.#waiting.get(id)?.(answer);
    this.#waiting.delete(id);
  }

  /** The writer sends pending transactions while there are listeners. */
  onPending(listener: (transactions: readonly PooledTransaction[]) => void): () => void {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#watch(true);
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0) this.#watch(false);
    };
  }

  isListening(): Promise<void> | undefined {
    return this.#watching;
  }

  #watch(isOn: boolean): void {
    const watching = this.#send((id) => ({ kind: "watch", id, isOn })).then(() => {
      if (this.#watching === watching) this.#watching = undefined;
    });
    this.#watching = watching;
  }

  announcePending(transactions: readonly PooledTransaction[]): void {
    for (const listener of this.#listeners) listener(transactions);
  }

  /** @throws {RpcError} */
  async submit(raw: Uint8Array, terms?: SubmissionTerms): Promise<Uint8Array> {
    // Decoding errors stay in this process. Only the writer accepts blobs, if the chain has any.
    const sender = raw[0] === 0x03 ? undefined : readSubmission(raw, this.#profile, this.#feeCapWei).sender;
    const answer = await this.#request((id) => ({ kind: "submit", id, raw, sender, terms }));
    if (typeof answer === "string") resultOf(answer); // an error
    return answer as Uint8Array;
  }

  async nextNonceOf(sender: Uint8Array): Promise<bigint> {
    return BigInt((await this.#result("eth_getTransactionCount", [bytesToHex(sender), "pending"])) as string);
  }

  async badBlock(hash: Uint8Array): Promise<Block | undefined> {
    const kept = (await this.#result("debug_getBadBlocks", [])) as readonly { readonly hash: Hex; readonly rlp: Hex }[];
    const bad = kept.find((block) => block.hash === bytesToHex(hash));
    return bad && decodeBlock(hexToBytes(bad.rlp));
  }

  async #result(method: string, params: readonly unknown[]): Promise<unknown> {
    return JSON.parse(resultOf(await this.ask(requestText(method, params))).text);
  }

  /** @throws {RpcError} too many wait already */
  #request(message: (id: number) => MessageToWriter): Promise<string | Uint8Array> {
    if (this.#waiting.size >= MAX_WAITING) {
      return Promise.reject(new RpcError(LIMIT_EXCEEDED, `${MAX_WAITING} requests wait for the pool already: try again`));
    }
    return this.#send(message);
  }

  #send(message: (id: number) => MessageToWriter): Promise<string | Uint8Array> {
    return new Promise((resolve) => {
      const id = this.#nextId++ >>> 0;
      this.#waiting.set(id, resolve);
      this.#outbox.push(message(id));
    });
  }
}

import { bytesToHex, type Clock, TokenBucket } from "@rnode/primitives";
import type { BlockPeer, HeaderRequest, PeerFault } from "../api.ts";
import { DevP2PError, decodeMessage } from "../errors.ts";
import type { RlpxConnection, RlpxMessage } from "../rlpx/connection.ts";
import { SNAP_VERSION } from "../snap/messages.ts";
import { SnapPeer, type SnapPeerDeps } from "../snap/snap-peer.ts";
import {
  type Announcement,
  type BlockRange,
  decodeAnnouncements,
  decodeAnswer,
  decodeHashRequest,
  decodeHeaderRequest,
  decodePooledTransactions,
  decodeRange,
  decodeStatus,
  decodeTransactions,
  ETH,
  ETH_MESSAGES,
  type EthStatus,
  type EthVersion,
  encodeAnnouncements,
  encodeAnswer,
  encodeHashRequest,
  encodeHeaderRequest,
  encodeRange,
  encodeStatus,
  encodeTransactions,
  transactionItem,
} from "./messages.ts";
import { MAX_REQUESTED_HASHES, type ServedChain } from "./served-chain.ts";

/** How transactions come and go. */
export interface TransactionExchange {
  /** the peer has these; nothing is awaited */
  announced(peer: EthPeer, announcements: readonly Announcement[]): void;
  /** the peer sends these, EIP-2718 encoded, unasked */
  received(peer: EthPeer, transactions: readonly Uint8Array[]): void;
  /** @returns transactions of the pool, EIP-2718 encoded; unknown ones are omitted */
  pooled(hashes: readonly Uint8Array[]): Promise<readonly Uint8Array[]>;
}

export interface EthPeerDeps {
  readonly clock: Clock;
  readonly chain: ServedChain;
  readonly transactions: TransactionExchange;
  /** the status that we send. */
  readonly ownStatus: (version: EthVersion) => EthStatus;
  /** @returns why the peer cannot be on our chain */
  readonly refusal: (status: EthStatus) => string | undefined;
  /** for peers that speak snap/1, too */
  readonly snap: SnapPeerDeps;
  readonly onHead: () => void;
  readonly onFault: (fault: PeerFault, detail: string) => void;
  /** for metrics: served and requested items */
  readonly onServed?: ((what: string, items: number, bytes: number) => void) | undefined;
}

/** Geth's limit for a requested message. */
const MAX_ANSWER_BYTES = 10 * 1024 * 1024;
/** Limit for unrequested messages: requests, announcements, transactions. */
const MAX_UNASKED_BYTES = 1024 * 1024;
const MAX_ANNOUNCEMENTS = 8_192;
const MAX_TRANSACTIONS = 4_096;
/** hashes of transactions in a request */
export const MAX_POOLED_REQUEST = 256;
const MAX_REQUESTS = 16;
const STATUS_LIMIT_MS = 5_000;
const REQUEST_LIMIT_MS = 15_000;
/** time after an aborted request in which its answer may still be large */
const LATE_MS = 30_000;
/** a peer that sends more messages waits for its turn */
const MESSAGES = { perSec: 100, burst: 400 } as const;
/** requests for blocks that reach far into the database */
const REQUESTS = { perSec: 20, burst: 60 } as const;

interface PendingRequest {
  /** code of the answer */
  readonly answer: number;
  readonly maxItems: number;
  readonly resolve: (items: readonly Uint8Array[]) => void;
  readonly reject: (error: Error) => void;
}

/** A peer that speaks `eth`: answers its requests, and requests blocks. */
export class EthPeer implements BlockPeer {
  readonly id: string;
  readonly version: EthVersion;
  readonly connection: RlpxConnection;
  readonly #deps: EthPeerDeps;
  readonly #snap: SnapPeer | undefined;
  readonly #requests = new Map<bigint, PendingRequest>();
  readonly #messages: TokenBucket;
  readonly #served: TokenBucket;
  #lastId = 0;
  #lateUntilMs = 0;
  #status: EthStatus | undefined;
  #head: BlockPeer["head"];
  #range: BlockRange | undefined;

  constructor(connection: RlpxConnection, version: EthVersion, deps: EthPeerDeps) {
    this.connection = connection;
    this.id = bytesToHex(connection.hello.publicKey).slice(2);
    this.version = version;
    this.#deps = deps;
    const speaksSnap = connection.hello.capabilities.some((own) => own.name === "snap" && own.version === SNAP_VERSION);
    // capabilities have their codes in the order of their names
    if (speaksSnap) this.#snap = new SnapPeer(connection, ETH.status + ETH_MESSAGES[version], deps.snap);
    this.#messages = new TokenBucket(MESSAGES, deps.clock);
    this.#served = new TokenBucket(REQUESTS, deps.clock);
    this.#head = { number: undefined, hash: new Uint8Array(32) };
  }

  get head(): BlockPeer["head"] {
    return this.#head;
  }

  /** the peer's block range; `undefined` in eth/68 */
  get range(): BlockRange | undefined {
    return this.#range;
  }

  get status(): EthStatus | undefined {
    return this.#status;
  }

  /**
   * Exchanges statuses.
   *
   * @throws {DevP2PError} devp2p/other-chain, devp2p/bad-message, devp2p/timeout, devp2p/disconnected
   */
  async greet(): Promise<void> {
    this.connection.send(ETH.status, encodeStatus(this.#deps.ownStatus(this.version)));
    const limit = setTimeout(() => this.connection.destroy(), STATUS_LIMIT_MS);
    try {
      const { code, data } = await this.connection.next(() => MAX_UNASKED_BYTES);
      if (code !== ETH.status) throw new DevP2PError("devp2p/bad-message", { reason: `message ${code} before the status` });
      const status = decodeMessage(() => decodeStatus(data, this.version));
      const refusal = status.version === this.version ? this.#deps.refusal(status) : `eth/${status.version}`;
      if (refusal !== undefined) throw new DevP2PError("devp2p/other-chain", { reason: refusal });
      if (status.range !== undefined) this.#checkRange(status.range);
      this.#status = status;
      this.#range = status.range;
      this.#head = { number: status.range?.latest, hash: status.latestHash };
    } finally {
      clearTimeout(limit);
    }
  }

  /** Until the connection ends. @throws {DevP2PError} why it did */
  async run(signal: AbortSignal): Promise<never> {
    try {
      for (;;) {
        const message = await this.connection.next(() => this.#maxBytes());
        await this.#messages.wait(this.#deps.clock, signal);
        this.#messages.spend();
        await this.#handle(message, signal);
        // other peers get their turn, regardless of this peer's messages
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      for (const { reject } of this.#requests.values()) reject(new DevP2PError("devp2p/peer-gone"));
      this.#requests.clear();
    }
  }

  #maxBytes(): number {
    const isExpecting = this.#requests.size > 0 || this.#deps.clock.monotonicMs() < this.#lateUntilMs;
    return isExpecting ? MAX_ANSWER_BYTES : MAX_UNASKED_BYTES;
  }

  async #handle({ code, data }: RlpxMessage, signal: AbortSignal): Promise<void> {
    const { chain, transactions } = this.#deps;
    // first, because a code of eth/69 may be one of snap/1 behind eth/68
    if (this.#snap?.hasCode(code) === true) return await this.#snap.handle(code, data, signal);
    switch (code) {
      case ETH.getBlockHeaders: {
        const { id, request } = decodeMessage(() => decodeHeaderRequest(data));
        return await this.#serve("headers", ETH.blockHeaders, id, () => chain.headers(request), signal);
      }
      case ETH.getBlockBodies: {
        const { id, hashes } = decodeMessage(() => decodeHashRequest(data, MAX_REQUESTED_HASHES));
        return await this.#serve("bodies", ETH.blockBodies, id, () => chain.bodies(hashes), signal);
      }
      case ETH.getReceipts: {
        const { id, hashes } = decodeMessage(() => decodeHashRequest(data, MAX_REQUESTED_HASHES));
        return await this.#serve("receipts", ETH.receipts, id, () => chain.receipts(hashes, this.version), signal);
      }
      case ETH.getPooledTransactions: {
        const { id, hashes } = decodeMessage(() => decodeHashRequest(data, MAX_REQUESTED_HASHES));
        const pooled = await transactions.pooled(hashes.slice(0, MAX_POOLED_REQUEST));
        return await this.#serve("transactions", ETH.pooledTransactions, id, () => pooled.map(transactionItem), signal);
      }
      case ETH.blockHeaders:
      case ETH.blockBodies:
      case ETH.receipts:
        return this.#take(decodeMessage(() => decodeAnswer(data, (id) => this.#expected(code, id))));
      case ETH.pooledTransactions:
        return this.#take(decodeMessage(() => decodePooledTransactions(data, (id) => this.#expected(code, id))));
      case ETH.newPooledTransactionHashes:
        return transactions.announced(
          this,
          decodeMessage(() => decodeAnnouncements(data, MAX_ANNOUNCEMENTS)),
        );
      case ETH.transactions:
        return transactions.received(
          this,
          decodeMessage(() => decodeTransactions(data, MAX_TRANSACTIONS)),
        );
      case ETH.blockRangeUpdate:
        return this.#follow(decodeMessage(() => decodeRange(data)));
      case ETH.newBlock:
      case ETH.newBlockHashes:
        return; // blocks come from the rollup node, so announcements of new blocks are ignored
      default:
        throw new DevP2PError("devp2p/bad-message", { reason: `message ${code}, which eth/${this.version} does not have` });
    }
  }

  async #serve(what: string, code: number, id: bigint, read: () => readonly Uint8Array[], signal: AbortSignal): Promise<void> {
    await this.#served.wait(this.#deps.clock, signal);
    this.#served.spend();
    const items = read();
    const answer = encodeAnswer(id, items);
    this.connection.send(code, answer);
    this.#deps.onServed?.(what, items.length, answer.length);
    await this.connection.drained();
  }

  #follow(range: BlockRange): void {
    if (this.version === 68) throw new DevP2PError("devp2p/bad-message", { reason: "a block range, which eth/68 does not have" });
    this.#checkRange(range);
    this.#range = range;
    this.#head = { number: range.latest, hash: range.latestHash };
    this.#deps.onHead();
  }

  #checkRange({ earliest, latest }: BlockRange): void {
    if (earliest > latest) throw new DevP2PError("devp2p/bad-message", { reason: `blocks from ${earliest} to ${latest}` });
  }

  /** @returns maximum number of items in the answer; −1: the request is no longer pending */
  #expected(code: number, id: bigint): number {
    const request = this.#requests.get(id);
    if (request === undefined) return -1;
    if (request.answer !== code)
      throw new DevP2PError("devp2p/bad-message", { reason: `message ${code} in answer to another request` });
    return request.maxItems;
  }

  #take({ id, items }: { readonly id: bigint; readonly items: readonly Uint8Array[] }): void {
    const request = this.#requests.get(id);
    this.#requests.delete(id);
    request?.resolve(items);
  }

  headers(request: HeaderRequest, signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const message = (id: number): Uint8Array => encodeHeaderRequest(id, request);
    return this.#ask(ETH.getBlockHeaders, ETH.blockHeaders, request.limit, message, signal);
  }

  bodies(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#ask(ETH.getBlockBodies, ETH.blockBodies, hashes.length, (id) => encodeHashRequest(id, hashes), signal);
  }

  receipts(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    return this.#ask(ETH.getReceipts, ETH.receipts, hashes.length, (id) => encodeHashRequest(id, hashes), signal);
  }

  /** EIP-2718 encodings of transactions of the peer's pool. */
  pooledTransactions(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]> {
    const message = (id: number): Uint8Array => encodeHashRequest(id, hashes);
    return this.#ask(ETH.getPooledTransactions, ETH.pooledTransactions, hashes.length, message, signal);
  }

  announce(announcements: readonly Announcement[]): void {
    this.connection.send(ETH.newPooledTransactionHashes, encodeAnnouncements(announcements));
  }

  sendTransactions(transactions: readonly Uint8Array[]): void {
    this.connection.send(ETH.transactions, encodeTransactions(transactions));
  }

  tellRange(range: BlockRange): void {
    if (this.version >= 69) this.connection.send(ETH.blockRangeUpdate, encodeRange(range));
  }

  report(fault: PeerFault, detail: string): void {
    this.#deps.onFault(fault, detail);
  }

  #ask(
    code: number,
    answer: number,
    maxItems: number,
    message: (id: number) => Uint8Array,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    if (signal.aborted) return Promise.reject(new DevP2PError("devp2p/request-aborted"));
    if (this.connection.isClosed) return Promise.reject(new DevP2PError("devp2p/peer-gone"));
    if (this.#requests.size >= MAX_REQUESTS) return Promise.reject(new DevP2PError("devp2p/busy"));
    const number = ++this.#lastId;
    const id = BigInt(number);
    return new Promise((resolve, reject) => {
      const giveUp = (error: DevP2PError): void => {
        this.#requests.delete(id);
        this.#lateUntilMs = this.#deps.clock.monotonicMs() + LATE_MS;
        end();
        reject(error);
      };
      const abort = (): void => giveUp(new DevP2PError("devp2p/request-aborted"));
      const timer = setTimeout(
        () => giveUp(new DevP2PError("devp2p/request-timeout", { limitMs: REQUEST_LIMIT_MS })),
        REQUEST_LIMIT_MS,
      );
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", abort);
      };
      signal.addEventListener("abort", abort);
      this.#requests.set(id, {
        answer,
        maxItems,
        resolve: (items) => {
          end();
          resolve(items);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      });
      this.connection.send(code, message(number));
    });
  }
}

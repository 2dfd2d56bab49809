import { bytesToHex, type Clock, TokenBucket } from "@rnode/primitives";
import type { BlockPeer, HeaderRequest, PeerFault, StatePeer } from "../api.ts";
import { DevP2PError, decodeMessage } from "../errors.ts";
import { OpenRequests } from "../requests.ts";
import type { RlpxConnection, RlpxMessage } from "../rlpx/connection.ts";
import { SNAP_VERSION } from "../snap/messages.ts";
import { SnapPeer, type SnapPeerDeps } from "../snap/snap-peer.ts";
import type { StateRequest } from "../snap/state-requests.ts";
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
const STATUS_LIMIT_MS = 5_000;
/** a peer that sends more messages waits for its turn */
const MESSAGES = { perSec: 100, burst: 400 } as const;
/** requests for blocks that reach far into the database */
const REQUESTS = { perSec: 20, burst: 60 } as const;

/** A peer that speaks `eth`: answers its requests, and requests blocks. */
export class EthPeer implements BlockPeer {
  readonly id: string;
  readonly version: EthVersion;
  readonly connection: RlpxConnection;
  readonly #deps: EthPeerDeps;
  readonly #snap: SnapPeer | undefined;
  readonly #requests: OpenRequests<readonly Uint8Array[]>;
  readonly #messages: TokenBucket;
  readonly #served: TokenBucket;
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
    if (speaksSnap) this.#snap = new SnapPeer(connection, ETH.status + ETH_MESSAGES[version], deps.snap, deps.clock);
    this.#requests = new OpenRequests(connection, deps.clock);
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
      this.#requests.close();
      this.#snap?.close();
    }
  }

  #maxBytes(): number {
    return this.#requests.isExpecting || this.#snap?.isExpecting === true ? MAX_ANSWER_BYTES : MAX_UNASKED_BYTES;
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
        return this.#take(decodeMessage(() => decodeAnswer(data, (id) => this.#requests.expected(code, id))));
      case ETH.pooledTransactions:
        return this.#take(decodeMessage(() => decodePooledTransactions(data, (id) => this.#requests.expected(code, id))));
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

  #take({ id, items }: { readonly id: bigint; readonly items: readonly Uint8Array[] }): void {
    this.#requests.take(id, items);
  }

  get state(): StatePeer | undefined {
    return this.#snap?.state;
  }

  /** @throws {DevP2PError} as `state`; devp2p/bad-answer: the peer does not speak snap/1 */
  askState(request: StateRequest, signal: AbortSignal): Promise<Uint8Array> {
    return this.#snap?.ask(request, signal) ?? Promise.reject(new DevP2PError("devp2p/bad-answer"));
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
    return this.#requests.ask({ code, answer, maxItems, message }, signal);
  }
}

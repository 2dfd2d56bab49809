import { bytesToHex, type Clock, type Hex, isCodedError, keccak256, LruCache, type Rate, TokenBucket } from "@rnode/primitives";
import { decodeTransaction, recoverSender } from "@rnode/protocol";
import { DevP2PError } from "../errors.ts";
import type { ReceivedTransaction } from "../network.ts";
import type { EthPeer, TransactionExchange } from "./eth-peer.ts";
import { MAX_POOLED_REQUEST } from "./eth-peer.ts";
import type { Announcement } from "./messages.ts";

/** larger ones are in no pool */
const MAX_TRANSACTION_BYTES = 128 * 1024;
const BLOB_TYPE = 0x03;
/** Transactions that peers never send: only L1 makes deposits, and only a block's builder post-exec transactions. */
const UNSIGNED_TYPES: readonly (number | undefined)[] = [0x7d, 0x7e];
/** hashes of transactions that the pool has or had */
const MAX_HAD = 65_536;
/** per peer: transactions that it has */
const MAX_KNOWN_OF_PEER = 4_096;
/** announced, and not delivered yet; all that announced a transaction remember it */
const MAX_WANTED_OF_PEER = 4_096;
/** Time for a peer to deliver a requested transaction before another announcer gets the request. */
const RESERVE_MS = 500;
/** For this time, a transaction is not requested again from a peer that did not deliver it. */
const FORGIVE_MS = 60_000;
/** hashes that a peer did not deliver */
const MAX_MISSED_OF_PEER = 4_096;
/** This excess of missed over delivered transactions is a fault. A pool may drop a few between announcement and request. */
const MAX_MISSED_MORE = 64;
/** announcements to a new peer */
const MAX_POOL = 4_096;
const MAX_QUEUED = 4_096;
const ANNOUNCE_INTERVAL_MS = 100;
const MAX_REQUEST_BYTES = 128 * 1024;
/** Recovering a sender takes about 65 µs of the network's thread. */
const TRANSACTIONS_OF_PEER: Rate = { perSec: 200, burst: 2_000 };
/** A peer's guaranteed share, independent of other peers. */
const SHARE_OF_PEER: Rate = { perSec: 20, burst: 200 };
const TRANSACTIONS: Rate = { perSec: 1_000, burst: 4_000 };
/** Cost of an undecodable transaction in its peer's budget. */
const JUNK_COST = 10;
/** An announced size may differ this much from the transaction's, as in Geth. */
const SIZE_TOLERANCE_BYTES = 8;

interface GossipPeer {
  readonly peer: EthPeer;
  readonly known: LruCache<Hex, true>;
  readonly queued: Announcement[];
  /** announced, and neither delivered nor refused */
  readonly wanted: Map<Hex, Announcement>;
  /** requested without a delivery, with the time */
  readonly missed: LruCache<Hex, number>;
  /** missed less delivered, since the last fault */
  missedMore: number;
  readonly budget: TokenBucket;
  readonly share: TokenBucket;
  isAsking: boolean;
}

export interface TransactionGossipDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onTransactions: (transactions: readonly ReceivedTransaction[]) => void;
  readonly pooled: (hashes: readonly Uint8Array[]) => Promise<readonly Uint8Array[]>;
  readonly count: (outcome: "taken" | "seen" | "limit" | "invalid") => void;
}

/** Announces the pool's transactions, requests those that peers announce, and passes them on with their senders. */
export class TransactionGossip implements TransactionExchange {
  readonly #deps: TransactionGossipDeps;
  readonly #isOn: boolean;
  readonly #peers = new Map<EthPeer, GossipPeer>();
  /** in the pool, or recently received; without transactions that were only requested */
  readonly #had = new LruCache<Hex, true>(MAX_HAD);
  /** requested: no other peer gets a request until the answer */
  readonly #reserved = new Map<Hex, { readonly gossip: GossipPeer; readonly untilMs: number }>();
  readonly #pool = new LruCache<Hex, Announcement>(MAX_POOL);
  readonly #budget: TokenBucket;
  #isRetrying = false;
  #isFlushing = false;

  constructor(isOn: boolean, deps: TransactionGossipDeps) {
    this.#isOn = isOn;
    this.#deps = deps;
    this.#budget = new TokenBucket(TRANSACTIONS, deps.clock);
  }

  join(peer: EthPeer): void {
    if (!this.#isOn) return;
    const known = new LruCache<Hex, true>(MAX_KNOWN_OF_PEER);
    const budget = new TokenBucket(TRANSACTIONS_OF_PEER, this.#deps.clock);
    const share = new TokenBucket(SHARE_OF_PEER, this.#deps.clock);
    const queued = [...this.#pool.values()];
    const missed = new LruCache<Hex, number>(MAX_MISSED_OF_PEER);
    this.#peers.set(peer, { peer, known, queued, wanted: new Map(), missed, missedMore: 0, budget, share, isAsking: false });
    this.#flushSoon();
  }

  leave(peer: EthPeer): void {
    this.#peers.delete(peer); // its request fails, which frees the requested transactions
  }

  /** The pool has these. */
  offer(announcements: readonly Announcement[]): void {
    for (const announcement of announcements) {
      const hash = bytesToHex(announcement.hash);
      this.#had.set(hash, true);
      if (announcement.type === BLOB_TYPE) continue;
      this.#pool.set(hash, announcement);
      for (const { known, queued } of this.#peers.values())
        if (!known.has(hash) && queued.length < MAX_QUEUED) queued.push(announcement);
    }
    if (this.#isOn) this.#flushSoon();
  }

  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    void this.#deps.clock.sleep(ANNOUNCE_INTERVAL_MS, this.#deps.signal).then(() => {
      this.#isFlushing = false;
      if (this.#deps.signal.aborted) return;
      for (const gossip of this.#peers.values()) this.#flush(gossip);
    });
  }

  #flush({ peer, known, queued }: GossipPeer): void {
    const announcements = queued.splice(0).filter(({ hash }) => !known.has(bytesToHex(hash)));
    if (announcements.length === 0 || peer.connection.isCongested) return;
    for (const { hash } of announcements) known.set(bytesToHex(hash), true);
    peer.announce(announcements);
  }

  announced(peer: EthPeer, announcements: readonly Announcement[]): void {
    const gossip = this.#peers.get(peer);
    if (gossip === undefined) return;
    const nowMs = this.#deps.clock.monotonicMs();
    let isAgain = false;
    for (const announcement of announcements) {
      const hash = bytesToHex(announcement.hash);
      gossip.known.set(hash, true);
      const isOurs =
        announcement.type !== BLOB_TYPE &&
        !UNSIGNED_TYPES.includes(announcement.type) &&
        announcement.size <= MAX_TRANSACTION_BYTES;
      if (!isOurs || this.#had.has(hash) || gossip.wanted.has(hash) || this.#reserved.get(hash)?.gossip === gossip) continue;
      const missedMs = gossip.missed.get(hash);
      if (missedMs !== undefined && nowMs - missedMs < FORGIVE_MS) {
        isAgain = true;
        continue;
      }
      if (gossip.wanted.size >= MAX_WANTED_OF_PEER) {
        this.#deps.count("limit");
        continue;
      }
      gossip.wanted.set(hash, announcement);
    }
    if (isAgain) peer.report("useless", "announces again transactions that it did not deliver");
    void this.#ask(gossip);
  }

  /** One request per peer at a time; transactions requested from another peer are deferred. */
  async #ask(gossip: GossipPeer): Promise<void> {
    if (gossip.isAsking) return;
    gossip.isAsking = true;
    try {
      while (this.#peers.get(gossip.peer) === gossip) {
        const asked = this.#nextOf(gossip);
        if (asked.size === 0) break;
        await this.#request(gossip, asked);
      }
    } catch (error) {
      if (isCodedError(error, "devp2p/bad-")) gossip.peer.report("lied", error.message);
      else if (isCodedError(error, "devp2p/request-timeout")) gossip.peer.report("slow", error.message);
      gossip.wanted.clear();
    } finally {
      gossip.isAsking = false;
    }
  }

  /** @throws {DevP2PError} the peer does not answer, or sends unrequested transactions */
  async #request(gossip: GossipPeer, asked: ReadonlyMap<Hex, Announcement>): Promise<void> {
    const missing = new Map(asked);
    try {
      const hashes = [...asked.values()].map(({ hash }) => hash);
      const answer = await gossip.peer.pooledTransactions(hashes, this.#deps.signal);
      const fresh: Uint8Array[] = [];
      let isAsAnnounced = true;
      for (const encoded of answer) {
        const hash = bytesToHex(keccak256(encoded));
        const announcement = missing.get(hash);
        if (announcement === undefined)
          throw new DevP2PError("devp2p/bad-answer", { reason: "transactions that were not asked for" });
        missing.delete(hash);
        isAsAnnounced &&= isOfAnnouncement(encoded, announcement);
        if (this.#had.has(hash)) this.#deps.count("seen");
        else fresh.push(encoded);
      }
      gossip.missedMore = Math.max(0, gossip.missedMore - answer.length) + missing.size;
      if (!isAsAnnounced) gossip.peer.report("useless", "transactions of another type or size than it announced");
      if (gossip.missedMore >= MAX_MISSED_MORE) {
        gossip.missedMore = 0;
        gossip.peer.report("useless", "announces transactions that it does not deliver");
      }
      this.#take(gossip, fresh);
    } finally {
      const nowMs = this.#deps.clock.monotonicMs();
      for (const hash of missing.keys()) gossip.missed.set(hash, nowMs);
      for (const hash of asked.keys()) if (this.#reserved.get(hash)?.gossip === gossip) this.#reserved.delete(hash);
      this.#askOthers(gossip, asked);
    }
  }

  /** Requests undelivered transactions from their other announcers. */
  #askOthers(asked: GossipPeer, transactions: ReadonlyMap<Hex, Announcement>): void {
    for (const other of this.#peers.values()) {
      if (other === asked || other.isAsking || other.wanted.size === 0) continue;
      if ([...transactions.keys()].some((hash) => other.wanted.has(hash))) void this.#ask(other);
    }
  }

  #nextOf(gossip: GossipPeer): ReadonlyMap<Hex, Announcement> {
    const next = new Map<Hex, Announcement>();
    const nowMs = this.#deps.clock.monotonicMs();
    let bytes = 0;
    for (const [hash, announcement] of gossip.wanted) {
      if (next.size >= MAX_POOLED_REQUEST || bytes >= MAX_REQUEST_BYTES) break;
      if (this.#had.has(hash)) {
        gossip.wanted.delete(hash);
        continue;
      }
      if ((this.#reserved.get(hash)?.untilMs ?? nowMs) > nowMs) {
        this.#retrySoon();
        continue;
      }
      gossip.wanted.delete(hash);
      this.#reserved.set(hash, { gossip, untilMs: nowMs + RESERVE_MS });
      next.set(hash, announcement);
      bytes += announcement.size;
    }
    return next;
  }

  /** Retries when reserved transactions are free again. */
  #retrySoon(): void {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    void this.#deps.clock.sleep(RESERVE_MS / 2, this.#deps.signal).then(() => {
      this.#isRetrying = false;
      if (this.#deps.signal.aborted) return;
      for (const gossip of this.#peers.values()) if (gossip.wanted.size > 0) void this.#ask(gossip);
    });
  }

  received(peer: EthPeer, transactions: readonly Uint8Array[]): void {
    const gossip = this.#peers.get(peer);
    if (gossip === undefined) return;
    const fresh = transactions.filter((encoded) => {
      const hash = bytesToHex(keccak256(encoded));
      gossip.known.set(hash, true);
      const isFresh = !this.#had.has(hash);
      if (!isFresh) this.#deps.count("seen");
      return isFresh;
    });
    this.#take(gossip, fresh);
  }

  /**
   * Passes on transactions within the budgets. A transaction beyond them is not marked as received, so another peer may deliver
   * it.
   */
  #take({ peer, budget, share }: GossipPeer, transactions: readonly Uint8Array[]): void {
    const taken: ReceivedTransaction[] = [];
    let fault: string | undefined;
    for (const encoded of transactions) {
      if (UNSIGNED_TYPES.includes(encoded[0]))
        throw new DevP2PError("devp2p/bad-message", { reason: `a transaction of type ${encoded[0]}, which no user sends` });
      const hash = bytesToHex(keccak256(encoded));
      if (this.#had.has(hash)) continue; // twice in one message
      if (encoded.length > MAX_TRANSACTION_BYTES || encoded[0] === BLOB_TYPE) {
        this.#had.set(hash, true);
        continue;
      }
      if (!budget.take() || !(share.take() || this.#budget.take())) {
        this.#deps.count("limit");
        continue;
      }
      this.#had.set(hash, true);
      try {
        taken.push({ encoded, sender: recoverSender(decodeTransaction(encoded)) });
        this.#deps.count("taken");
      } catch (error) {
        if (!isCodedError(error)) throw error; // of the codec or the curve
        this.#deps.count("invalid");
        const { message } = error;
        // a type of a later fork is no fault of an honest peer
        if (!isCodedError(error, "tx/unknown-type")) {
          fault = message;
          budget.spend(JUNK_COST);
        }
      }
    }
    if (fault !== undefined) peer.report("useless", `a transaction that is none: ${fault}`);
    if (taken.length > 0) this.#deps.onTransactions(taken);
  }

  async pooled(hashes: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return this.#isOn ? await this.#deps.pooled(hashes) : [];
  }
}

const isOfAnnouncement = (encoded: Uint8Array, { type, size }: Announcement): boolean =>
  (encoded[0]! >= 0xc0 ? 0 : encoded[0]) === type && Math.abs(encoded.length - size) <= SIZE_TOLERANCE_BYTES;

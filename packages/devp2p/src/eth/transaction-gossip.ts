import { type Rate, TokenBucket } from "@rnode/peering";
import { bytesToHex, type Clock, type Hex, isCodedError, keccak256, LruCache } from "@rnode/primitives";
import { decodeTransaction, recoverSender } from "@rnode/protocol";
import { DevP2PError } from "../errors.ts";
import type { ReceivedTransaction } from "../network.ts";
import type { EthPeer, TransactionExchange } from "./eth-peer.ts";
import { MAX_POOLED_REQUEST } from "./eth-peer.ts";
import type { Announcement } from "./messages.ts";

/** larger ones are in no pool */
const MAX_TRANSACTION_BYTES = 128 * 1024;
const BLOB_TYPE = 0x03;
const DEPOSIT_TYPE = 0x7e;
/** hashes that were seen, of all peers */
const MAX_SEEN = 65_536;
/** of those that a peer knows */
const MAX_KNOWN_OF_PEER = 4_096;
/** announced, and not asked for yet */
const MAX_WANTED_OF_PEER = 4_096;
const MAX_WANTED = 32_768;
/** what a newcomer is told of */
const MAX_POOL = 4_096;
const MAX_QUEUED = 4_096;
const ANNOUNCE_INTERVAL_MS = 100;
const MAX_REQUEST_BYTES = 128 * 1024;
/** Recovering a sender takes about 65 µs of the network's thread. */
const TRANSACTIONS_OF_PEER: Rate = { perSec: 200, burst: 2_000 };
const TRANSACTIONS: Rate = { perSec: 1_000, burst: 4_000 };

interface GossipPeer {
  readonly peer: EthPeer;
  readonly known: LruCache<Hex, true>;
  readonly queued: Announcement[];
  /** announced, not asked for */
  readonly wanted: Map<Hex, Announcement>;
  readonly budget: TokenBucket;
  isAsking: boolean;
}

export interface TransactionGossipDeps {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onTransactions: (transactions: readonly ReceivedTransaction[]) => void;
  readonly pooled: (hashes: readonly Uint8Array[]) => Promise<readonly Uint8Array[]>;
  readonly count: (outcome: "taken" | "seen" | "limit" | "invalid") => void;
}

/** Announces the pool's transactions, asks for those that others announce, and hands them over with their senders. */
export class TransactionGossip implements TransactionExchange {
  readonly #deps: TransactionGossipDeps;
  readonly #isOn: boolean;
  readonly #peers = new Map<EthPeer, GossipPeer>();
  /** in the pool, asked for, or received lately */
  readonly #seen = new LruCache<Hex, true>(MAX_SEEN);
  readonly #pool = new LruCache<Hex, Announcement>(MAX_POOL);
  readonly #budget: TokenBucket;
  #wanted = 0;
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
    const queued = [...this.#pool.values()];
    this.#peers.set(peer, { peer, known, queued, wanted: new Map(), budget, isAsking: false });
    this.#flushSoon();
  }

  leave(peer: EthPeer): void {
    const gone = this.#peers.get(peer);
    if (gone === undefined) return;
    this.#peers.delete(peer);
    this.#wanted -= gone.wanted.size;
  }

  /** The pool has these. */
  offer(announcements: readonly Announcement[]): void {
    for (const announcement of announcements) {
      const hash = bytesToHex(announcement.hash);
      this.#seen.set(hash, true);
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
    for (const announcement of announcements) {
      const hash = bytesToHex(announcement.hash);
      gossip.known.set(hash, true);
      const isOurs =
        announcement.type !== BLOB_TYPE && announcement.type !== DEPOSIT_TYPE && announcement.size <= MAX_TRANSACTION_BYTES;
      if (!isOurs || this.#seen.has(hash) || gossip.wanted.has(hash)) continue;
      if (gossip.wanted.size >= MAX_WANTED_OF_PEER || this.#wanted >= MAX_WANTED) {
        this.#deps.count("limit");
        continue;
      }
      gossip.wanted.set(hash, announcement);
      this.#wanted++;
    }
    void this.#ask(gossip);
  }

  /** One request of a peer at a time; what another peer was asked for meanwhile is left out. */
  async #ask(gossip: GossipPeer): Promise<void> {
    if (gossip.isAsking) return;
    gossip.isAsking = true;
    try {
      while (gossip.wanted.size > 0 && this.#peers.has(gossip.peer)) {
        const hashes = this.#nextOf(gossip);
        if (hashes.length === 0) continue;
        const asked = new Set(hashes.map((hash) => bytesToHex(hash)));
        try {
          const answer = await gossip.peer.pooledTransactions(hashes, this.#deps.signal);
          if (answer.some((encoded) => !asked.delete(bytesToHex(keccak256(encoded)))))
            throw new DevP2PError("devp2p/bad-answer", { reason: "transactions that were not asked for" });
          this.#take(gossip, answer);
        } finally {
          for (const hash of asked) this.#seen.delete(hash); // another peer may have it
        }
      }
    } catch (error) {
      if (isCodedError(error, "devp2p/bad-")) gossip.peer.report("lied", error.message);
      else if (isCodedError(error, "devp2p/request-timeout")) gossip.peer.report("slow", error.message);
      this.#wanted -= gossip.wanted.size;
      gossip.wanted.clear();
    } finally {
      gossip.isAsking = false;
    }
  }

  #nextOf({ wanted }: GossipPeer): Uint8Array[] {
    const hashes: Uint8Array[] = [];
    let bytes = 0;
    for (const [hash, announcement] of wanted) {
      if (hashes.length >= MAX_POOLED_REQUEST || bytes >= MAX_REQUEST_BYTES) break;
      wanted.delete(hash);
      this.#wanted--;
      if (this.#seen.has(hash)) continue;
      this.#seen.set(hash, true);
      hashes.push(announcement.hash);
      bytes += announcement.size;
    }
    return hashes;
  }

  received(peer: EthPeer, transactions: readonly Uint8Array[]): void {
    const gossip = this.#peers.get(peer);
    if (gossip === undefined) return;
    this.#take(
      gossip,
      transactions.filter((encoded) => {
        const hash = bytesToHex(keccak256(encoded));
        gossip.known.set(hash, true);
        if (this.#seen.has(hash)) {
          this.#deps.count("seen");
          return false;
        }
        this.#seen.set(hash, true);
        return true;
      }),
    );
  }

  #take({ budget }: GossipPeer, transactions: readonly Uint8Array[]): void {
    const taken: ReceivedTransaction[] = [];
    for (const encoded of transactions) {
      if (encoded.length > MAX_TRANSACTION_BYTES || encoded[0] === BLOB_TYPE) continue;
      if (encoded[0] === DEPOSIT_TYPE) throw new DevP2PError("devp2p/bad-message", { reason: "a deposit, which only L1 can make" });
      if (!budget.take() || !this.#budget.take()) {
        this.#deps.count("limit");
        continue;
      }
      try {
        const transaction = decodeTransaction(encoded);
        if (transaction.type === DEPOSIT_TYPE) continue;
        taken.push({ encoded, sender: recoverSender(transaction) });
        this.#deps.count("taken");
      } catch (error) {
        if (!isCodedError(error)) throw error; // of the codec or the curve
        this.#deps.count("invalid");
      }
    }
    if (taken.length > 0) this.#deps.onTransactions(taken);
  }

  async pooled(hashes: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
    return this.#isOn ? await this.#deps.pooled(hashes) : [];
  }
}

import type { StoredBlock } from "@rnode/chain";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  type Hex,
  keccak256,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  type BlobTransaction,
  encodeReceipt,
  encodeTransaction,
  type FeeMarketTransaction,
  type Header,
  hashHeader,
  hashTransaction,
  type L1BlockRef,
  type Log,
  logsBloom,
  type Receipt,
  recoverSender,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

export type L1Transaction = FeeMarketTransaction | BlobTransaction;

export interface L1Block {
  readonly ref: L1BlockRef;
  readonly stored: StoredBlock;
  readonly transactionHashes: readonly Hex[];
  /** nonces after this block, by address */
  readonly nonces: ReadonlyMap<Hex, bigint>;
}

interface PooledTransaction {
  readonly tx: L1Transaction;
  readonly hash: Hex;
  readonly sender: Hex;
  /** it is in no block before this time */
  readonly notBeforeMs: number;
}

export type PoolVerdict = "accepted" | "nonce too low" | "replacement transaction underpriced";

export interface SimL1Options {
  readonly genesisTimeSec: number;
  readonly blockTimeSec: number;
  /** blocks behind the head */
  readonly safeDistance: number;
  readonly finalDistance: number;
}

const zeros = (length: number): Uint8Array => new Uint8Array(length);
const NO_SIDECARS: readonly Uint8Array[] = [];
const BASE_FEE = 10n ** 9n;

/** L1: a chain with real headers, transactions, receipts and roots, a pool, and reorganisations on demand. It executes nothing. */
export class SimL1 {
  readonly options: SimL1Options;
  /** the canonical chain from the genesis on */
  readonly blocks: L1Block[] = [];
  readonly #byHash = new Map<Hex, L1Block>();
  readonly #byTransaction = new Map<Hex, L1Block>();
  readonly #pool = new Map<Hex, PooledTransaction>();
  readonly #blobs = new Map<Hex, Uint8Array>();
  #finalized = 0;
  #salt = 0;
  /** logs of the next block, in a transaction of their own each */
  #pendingLogs: { readonly tx: L1Transaction; readonly log: Log }[] = [];
  /** transactions that the next block contains whatever the pool says */
  #forced: L1Transaction[] = [];
  /** how many blocks were replaced so far */
  replacedBlocks = 0;

  constructor(options: SimL1Options) {
    this.options = options;
    this.#append([], options.genesisTimeSec);
  }

  get head(): L1Block {
    return this.blocks.at(-1)!;
  }

  get safe(): L1Block {
    return this.blocks[Math.max(this.#finalized, this.head.ref.number - this.options.safeDistance)]!;
  }

  get finalized(): L1Block {
    return this.blocks[this.#finalized]!;
  }

  byHash(hash: Hex): L1Block | undefined {
    return this.#byHash.get(hash);
  }

  isCanonical({ hash, number }: { readonly hash: Hex; readonly number: number }): boolean {
    return this.blocks[number]?.ref.hash === hash;
  }

  /** The canonical block that includes a transaction. */
  inclusion(hash: Hex): L1Block | undefined {
    const block = this.#byTransaction.get(hash);
    return block !== undefined && this.isCanonical(block.ref) ? block : undefined;
  }

  nonceAt(address: Hex, number: number): bigint {
    return this.blocks[number]?.nonces.get(address) ?? 0n;
  }

  pendingNonce(address: Hex): bigint {
    let nonce = this.nonceAt(address, this.head.ref.number);
    while (this.#pooled(address, nonce) !== undefined) nonce++;
    return nonce;
  }

  blob(versionedHash: Uint8Array): Uint8Array | undefined {
    return this.#blobs.get(bytesToHex(versionedHash));
  }

  get poolSize(): number {
    return this.#pool.size;
  }

  /** @param blobs one for each versioned hash of the transaction */
  submit(tx: L1Transaction, notBeforeMs: number, blobs: readonly Uint8Array[] = NO_SIDECARS): PoolVerdict {
    const sender = bytesToHex(recoverSender(tx));
    if (tx.nonce < this.nonceAt(sender, this.head.ref.number)) return "nonce too low";
    const hash = bytesToHex(hashTransaction(tx));
    const old = this.#pooled(sender, tx.nonce);
    if (old !== undefined && old.hash !== hash) {
      const percent = tx.type === 3 || old.tx.type === 3 ? 200n : 110n;
      if (tx.maxFeePerGas * 100n < old.tx.maxFeePerGas * percent) return "replacement transaction underpriced";
      this.#pool.delete(old.hash);
    }
    this.#pool.set(hash, { tx, hash, sender, notBeforeMs });
    if (tx.type === 3) for (const [i, blob] of blobs.entries()) this.#blobs.set(bytesToHex(tx.blobVersionedHashes[i]!), blob);
    return "accepted";
  }

  /** The pool forgets transactions. @returns how many */
  dropFromPool(isDropped: () => boolean): number {
    let dropped = 0;
    for (const hash of [...this.#pool.keys()]) if (isDropped() && this.#pool.delete(hash)) dropped++;
    return dropped;
  }

  /** The next block contains these, whatever is in the pool for their nonces. */
  force(...transactions: L1Transaction[]): void {
    this.#forced.push(...transactions);
  }

  /** The next block contains a transaction that emits this log. */
  emit(tx: L1Transaction, log: Log): void {
    this.#pendingLogs.push({ tx, log });
  }

  mine(nowMs: number): L1Block {
    const parent = this.head;
    const included = this.#forced.splice(0);
    const next = new Map<Hex, bigint>();
    for (const tx of included) next.set(bytesToHex(recoverSender(tx)), tx.nonce + 1n);
    const senders = new Set([...this.#pool.values()].map(({ sender }) => sender));
    for (const sender of senders) {
      let nonce = next.get(sender) ?? this.nonceAt(sender, parent.ref.number);
      for (;;) {
        const pooled = this.#pooled(sender, nonce);
        if (pooled === undefined || pooled.notBeforeMs > nowMs || pooled.tx.maxFeePerGas < BASE_FEE) break;
        included.push(pooled.tx);
        this.#pool.delete(pooled.hash);
        nonce++;
      }
    }
    const timestamp = Math.max(Math.floor(nowMs / 1000), parent.ref.timestamp + 1);
    const block = this.#append(included, timestamp);
    for (const { hash, sender, tx } of [...this.#pool.values()]) {
      if (tx.nonce < this.nonceAt(sender, block.ref.number)) this.#pool.delete(hash);
    }
    this.#finalized = Math.max(this.#finalized, block.ref.number - this.options.finalDistance);
    return block;
  }

  /**
   * Replaces the newest blocks by as many others, and one more. @param fate what becomes of their transactions: in the new blocks at
   * the same heights, back in the pool, or gone
   */
  reorg(depth: number, fate: "kept" | "returned" | "lost", notBeforeMs: number): number {
    const undone = Math.min(depth, this.head.ref.number - this.#finalized);
    if (undone <= 0) return 0;
    const removed = this.blocks.splice(this.blocks.length - undone, undone);
    this.#salt++;
    this.replacedBlocks += undone;
    for (const { ref, stored } of removed) {
      const transactions = stored.block.transactions as readonly L1Transaction[];
      this.#append(fate === "kept" ? transactions : [], ref.timestamp, fate === "kept" ? stored.receipts : undefined);
      if (fate !== "returned") continue;
      for (const tx of transactions) this.submit(tx, notBeforeMs);
    }
    this.#append([], this.head.ref.timestamp + 1);
    return undone;
  }

  #pooled(sender: Hex, nonce: bigint): PooledTransaction | undefined {
    for (const pooled of this.#pool.values()) if (pooled.sender === sender && pooled.tx.nonce === nonce) return pooled;
    return undefined;
  }

  #append(transactions: readonly L1Transaction[], timestamp: number, receiptsBefore?: readonly Receipt[]): L1Block {
    const parent = this.blocks.at(-1);
    const number = this.blocks.length;
    const emitted = receiptsBefore === undefined && parent !== undefined ? this.#pendingLogs.splice(0) : [];
    const all = [...transactions, ...emitted.map(({ tx }) => tx)];
    const receipts =
      receiptsBefore ??
      all.map((_, i): Receipt => {
        const emission = emitted[i - transactions.length];
        const logs = emission === undefined ? [] : [emission.log];
        return { type: all[i]!.type, status: 1, cumulativeGasUsed: 21_000n * BigInt(i + 1), bloom: logsBloom(logs), logs };
      });
    const seed = keccak256(uint64ToBytes(number), uint64ToBytes(this.#salt), uint64ToBytes(timestamp));
    const header: Header = {
      parentHash: parent?.stored.hash ?? zeros(32),
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: zeros(20),
      stateRoot: seed,
      transactionsRoot: orderedTrieRoot(all.map(encodeTransaction)),
      receiptsRoot: orderedTrieRoot(receipts.map((receipt) => encodeReceipt(receipt))),
      logsBloom: zeros(256),
      difficulty: 0n,
      number,
      gasLimit: 30_000_000n,
      gasUsed: 21_000n * BigInt(all.length),
      timestamp,
      extraData: zeros(0),
      mixHash: keccak256(seed),
      nonce: zeros(8),
      baseFeePerGas: BASE_FEE,
      withdrawalsRoot: EMPTY_TRIE_ROOT,
      blobGasUsed: 0n,
      excessBlobGas: 0n,
      parentBeaconBlockRoot: seed,
      requestsHash: EMPTY_REQUESTS_HASH,
    };
    const hash = hashHeader(header);
    const senders = all.map((tx) => recoverSender(tx));
    const nonces = new Map(parent?.nonces ?? []);
    for (const [i, sender] of senders.entries()) nonces.set(bytesToHex(sender), all[i]!.nonce + 1n);
    const block: L1Block = {
      ref: { hash: bytesToHex(hash), number, parentHash: bytesToHex(header.parentHash), timestamp },
      stored: { hash, block: { header, transactions: all, ommers: [], withdrawals: [] }, receipts, senders },
      transactionHashes: all.map((tx) => bytesToHex(hashTransaction(tx))),
      nonces,
    };
    this.blocks.push(block);
    this.#byHash.set(block.ref.hash, block);
    for (const txHash of block.transactionHashes) this.#byTransaction.set(txHash, block);
    return block;
  }
}

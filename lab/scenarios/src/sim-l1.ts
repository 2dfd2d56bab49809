import type { StoredBlock } from "@rnode/chain";
import {
  bytesToHex,
  EMPTY_OMMERS_HASH,
  EMPTY_REQUESTS_HASH,
  EMPTY_TRIE_ROOT,
  encodeRlp,
  type Hex,
  keccak256,
  uint64ToBytes,
} from "@rnode/primitives";
import {
  encodeReceipt,
  encodeTransaction,
  type Header,
  hashTransaction,
  headerToRlp,
  type L1BlockRef,
  type Log,
  logsBloom,
  mergeBlooms,
  type Receipt,
  recoverSender,
} from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { type L1Transaction, minimumGas, transferLogs } from "./l1-rules.ts";
import { encodeUnknownReceipt, encodeUnknownTransaction, type ReceiptForm } from "./unknown-transaction.ts";

/** A transaction and its results, without those that L1's rules add. */
interface Entry {
  readonly tx: L1Transaction;
  readonly logs: readonly Log[];
  /** `tx` represents a transaction of an unknown type, with this form of receipt */
  readonly unknown?: ReceiptForm | undefined;
  /** whether the contract accepts it in the block with this number; otherwise it fails and has no logs; `undefined`: always */
  readonly isTaken?: ((blockNumber: number) => boolean) | undefined;
}

export interface L1Block {
  readonly ref: L1BlockRef;
  /** The known part of the block: another transaction replaces one of an unknown type. */
  readonly stored: StoredBlock;
  readonly entries: readonly Entry[];
  readonly hasUnknownField: boolean;
  /** input of the block's hash and roots: RLP, and EIP-2718 encodings in order */
  readonly raw: {
    readonly header: Uint8Array;
    readonly transactions: readonly Uint8Array[];
    readonly receipts: readonly Uint8Array[];
  };
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

export type PoolVerdict =
  | "accepted"
  | "nonce too low"
  | "replacement transaction underpriced"
  | "insufficient gas for floor data gas cost";

export interface SimL1Options {
  readonly genesisTimeSec: number;
  readonly blockTimeSec: number;
  /** blocks behind the head */
  readonly safeDistance: number;
  readonly finalDistance: number;
  /** activation time of Amsterdam; `undefined`: never */
  readonly amsterdamTimeSec?: number | undefined;
  /** time from which its headers have an unknown field; `undefined`: never */
  readonly unknownFieldTimeSec?: number | undefined;
}

const zeros = (length: number): Uint8Array => new Uint8Array(length);
const NO_SIDECARS: readonly Uint8Array[] = [];
const BASE_FEE = 10n ** 9n;
const GAS_OF_EACH = 21_000n;

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
  /** transactions that the next block contains regardless of the pool */
  #forced: Entry[] = [];
  /** how many blocks were replaced so far */
  replacedBlocks = 0;
  /** number of transactions refused, or omitted from a block, because their gas limit is below the floor */
  refusedForGas = 0;

  constructor(options: SimL1Options) {
    this.options = options;
    this.#append([], options.genesisTimeSec);
  }

  /** Whether blocks of this time have the rules of Amsterdam. */
  isAmsterdam(timestamp: number): boolean {
    const { amsterdamTimeSec } = this.options;
    return amsterdamTimeSec !== undefined && timestamp >= amsterdamTimeSec;
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
    if (!this.#hasEnoughGas(tx, this.head.ref.timestamp)) return "insufficient gas for floor data gas cost";
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

  /** The next block contains this one, which emits these logs, whatever is in the pool for its nonce. */
  force(tx: L1Transaction, logs: readonly Log[] = [], more: Pick<Entry, "unknown" | "isTaken"> = {}): void {
    this.#forced.push({ tx, logs, ...more });
  }

  mine(nowMs: number): L1Block {
    const parent = this.head;
    const timestamp = Math.max(Math.floor(nowMs / 1000), parent.ref.timestamp + 1);
    const number = parent.ref.number + 1;
    const included = this.#forced.splice(0).filter(({ isTaken }) => isTaken?.(number) !== false);
    const next = new Map<Hex, bigint>();
    for (const { tx } of included) next.set(bytesToHex(recoverSender(tx)), tx.nonce + 1n);
    const senders = new Set([...this.#pool.values()].map(({ sender }) => sender));
    for (const sender of senders) {
      let nonce = next.get(sender) ?? this.nonceAt(sender, parent.ref.number);
      for (;;) {
        const pooled = this.#pooled(sender, nonce);
        if (pooled === undefined || pooled.notBeforeMs > nowMs || pooled.tx.maxFeePerGas < BASE_FEE) break;
        if (!this.#hasEnoughGas(pooled.tx, timestamp)) break;
        included.push({ tx: pooled.tx, logs: [] });
        this.#pool.delete(pooled.hash);
        nonce++;
      }
    }
    const block = this.#append(included, timestamp);
    for (const { hash, sender, tx } of [...this.#pool.values()]) {
      if (tx.nonce < this.nonceAt(sender, block.ref.number)) this.#pool.delete(hash);
    }
    this.#finalized = Math.max(this.#finalized, block.ref.number - this.options.finalDistance);
    return block;
  }

  /**
   * Replaces the newest blocks by the same number of others, and one more. @param fate of their transactions: in the new blocks
   * at the same heights, back in the pool, or lost
   */
  reorg(depth: number, fate: "kept" | "returned" | "lost", notBeforeMs: number): number {
    const undone = Math.min(depth, this.head.ref.number - this.#finalized);
    if (undone <= 0) return 0;
    const removed = this.blocks.splice(this.blocks.length - undone, undone);
    this.#salt++;
    this.replacedBlocks += undone;
    for (const { ref, entries } of removed) {
      this.#append(fate === "kept" ? entries : [], ref.timestamp);
      if (fate === "returned") this.#giveBack(entries, notBeforeMs);
    }
    this.#append([], this.head.ref.timestamp + 1);
    return undone;
  }

  /**
   * Replaces the newest block by a sibling, as the builder of a slot does that does not count the payload of the slot before (EIP-7732).
   *
   * @returns undefined if that block is final
   */
  replaceHead(nowMs: number): L1Block | undefined {
    if (this.head.ref.number <= this.#finalized) return undefined;
    const { entries } = this.blocks.pop()!;
    this.#salt++;
    this.replacedBlocks++;
    this.#giveBack(entries, nowMs);
    return this.mine(nowMs);
  }

  /** Transactions that were never in the pool are in the next block. */
  #giveBack(entries: readonly Entry[], notBeforeMs: number): void {
    for (const entry of entries) {
      if (entry.logs.length > 0 || entry.unknown !== undefined) this.#forced.push(entry);
      else this.submit(entry.tx, notBeforeMs);
    }
  }

  #hasEnoughGas(tx: L1Transaction, timestamp: number): boolean {
    const isEnough = tx.gasLimit >= minimumGas(tx, this.isAmsterdam(timestamp));
    if (!isEnough) this.refusedForGas++;
    return isEnough;
  }

  #pooled(sender: Hex, nonce: bigint): PooledTransaction | undefined {
    for (const pooled of this.#pool.values()) if (pooled.sender === sender && pooled.tx.nonce === nonce) return pooled;
    return undefined;
  }

  #append(entries: readonly Entry[], timestamp: number): L1Block {
    const parent = this.blocks.at(-1);
    const number = this.blocks.length;
    const transactions = entries.map(({ tx }) => tx);
    const isAmsterdam = this.isAmsterdam(timestamp);
    const receipts = entries.map(({ tx, logs: own }, i): Receipt => {
      const logs = isAmsterdam ? [...transferLogs(tx), ...own] : own;
      return { type: tx.type, status: 1, cumulativeGasUsed: GAS_OF_EACH * BigInt(i + 1), bloom: logsBloom(logs), logs };
    });
    const raw = {
      transactions: entries.map(({ tx, unknown }) =>
        unknown === undefined ? encodeTransaction(tx) : encodeUnknownTransaction(tx),
      ),
      receipts: entries.map(({ unknown }, i) =>
        unknown === undefined ? encodeReceipt(receipts[i]!) : encodeUnknownReceipt(receipts[i]!, unknown),
      ),
    };
    const seed = keccak256(uint64ToBytes(number), uint64ToBytes(this.#salt), uint64ToBytes(timestamp));
    const header: Header = {
      parentHash: parent?.stored.hash ?? zeros(32),
      ommersHash: EMPTY_OMMERS_HASH,
      beneficiary: zeros(20),
      stateRoot: seed,
      transactionsRoot: orderedTrieRoot(raw.transactions),
      receiptsRoot: orderedTrieRoot(raw.receipts),
      logsBloom: mergeBlooms(receipts.map(({ bloom }) => bloom)),
      difficulty: 0n,
      number,
      gasLimit: 30_000_000n,
      gasUsed: isAmsterdam ? blockGas(entries.length, number) : GAS_OF_EACH * BigInt(entries.length),
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
      // slots take a second: blocks of scenarios come at any
      ...(isAmsterdam && {
        blockAccessListHash: keccak256(seed, seed),
        slotNumber: BigInt(timestamp - this.options.genesisTimeSec),
      }),
    };
    const { unknownFieldTimeSec = Number.POSITIVE_INFINITY } = this.options;
    const hasUnknownField = timestamp >= unknownFieldTimeSec;
    const rawHeader = encodeRlp([...headerToRlp(header), ...(hasUnknownField ? [unknownField(header)] : [])]);
    const hash = keccak256(rawHeader);
    const senders = transactions.map((tx) => recoverSender(tx));
    const nonces = new Map(parent?.nonces ?? []);
    for (const [i, sender] of senders.entries()) nonces.set(bytesToHex(sender), transactions[i]!.nonce + 1n);
    const block: L1Block = {
      ref: { hash: bytesToHex(hash), number, parentHash: bytesToHex(header.parentHash), timestamp },
      stored: { hash, block: { header, transactions, ommers: [], withdrawals: [] }, receipts, senders },
      entries,
      hasUnknownField,
      raw: { header: rawHeader, ...raw },
      transactionHashes: raw.transactions.map((encoded) => bytesToHex(keccak256(encoded))),
      nonces,
    };
    this.blocks.push(block);
    this.#byHash.set(block.ref.hash, block);
    for (const txHash of block.transactionHashes) this.#byTransaction.set(txHash, block);
    return block;
  }
}

/** The larger of two kinds of gas, each of which is less than receipts add up to, or more, because of refunds (EIP-8037, EIP-7778). */
const blockGas = (transactions: number, number: number): bigint =>
  (BigInt(transactions) * GAS_OF_EACH * (number % 2 === 0 ? 3n : 5n)) / 4n;

/** A possible 24th field of a header: a root. */
export const unknownField = ({ mixHash }: Header): Uint8Array => keccak256(mixHash);

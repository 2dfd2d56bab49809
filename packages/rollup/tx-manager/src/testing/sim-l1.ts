import type { L1FeeMarket, L1Inclusion, SendVerdict } from "@rnode/l1";
import { bytesToHex, type Hex, keccak256, uint64ToBytes } from "@rnode/primitives";
import {
  type BlobTransaction,
  decodeBlobTransactionWithSidecar,
  decodeTransaction,
  type FeeMarketTransaction,
  GAS_PER_BLOB,
  hashTransaction,
  L1_DATA_PRICINGS,
  type L1BlockRef,
  type L1DataPricing,
  l1DataGas,
  MAX_L1_TRANSACTION_GAS,
  recoverSender,
} from "@rnode/protocol";
import type { L1Access } from "../l1-access.ts";
import { maxCostWei } from "../tx-candidate.ts";

export type SimTransaction = FeeMarketTransaction | BlobTransaction;

export interface SimL1Block {
  readonly ref: L1BlockRef;
  readonly transactions: readonly SimTransaction[];
  /** wei per gas, and per blob gas */
  readonly baseFee: bigint;
  readonly blobBaseFee: bigint;
  readonly dataPricing: L1DataPricing;
  /** of the account after this block */
  readonly nonce: bigint;
}

export type SimL1Draft = Omit<SimL1Block, "ref"> & {
  readonly ref: Omit<L1BlockRef, "hash">;
  /** different for each block that the chain ever had */
  readonly salt: number;
};

const GWEI = 10n ** 9n;
/** Before the first block, for `accountAfter`. */
const FIRST_BALANCE = 10n ** 24n;

/** The cost of a transaction in a block, within its caps, in wei. */
export function simFeeWei(
  tx: SimTransaction,
  { baseFee, blobBaseFee, dataPricing }: Pick<SimL1Block, "baseFee" | "blobBaseFee" | "dataPricing">,
): bigint {
  const room = tx.maxFeePerGas - baseFee;
  const price = baseFee + (room < tx.maxPriorityFeePerGas ? room : tx.maxPriorityFeePerGas);
  const blobs = tx.type === 0x03 ? BigInt(tx.blobVersionedHashes.length) * GAS_PER_BLOB * blobBaseFee : 0n;
  return l1DataGas(dataPricing, tx.data, tx.value > 0n) * price + blobs;
}

/** An L1 with one account: a pool with Geth's rules, blocks and reorganisations on demand. */
export class SimL1 implements L1Access {
  readonly blocks: SimL1Block[] = [];
  baseFee = 10n * GWEI;
  tip = GWEI;
  blobBaseFee = GWEI;
  /** of the newest block, and of the next one before `amsterdamAt` */
  dataPricing: L1DataPricing = L1_DATA_PRICINGS[1];
  /** the first block with Amsterdam's pricing; `undefined`: `dataPricing` is constant */
  amsterdamAt: number | undefined;
  accountBalance = 10n ** 18n;
  /** true: calls fail like those to an unreachable endpoint */
  isDown = false;
  /** the answer to `send` is lost, but the pool accepts the transaction */
  losesAnswers = false;
  /** false: pending transactions are not included */
  includes = true;
  /** the version of proofs that its pool requires */
  sidecarVersion: 0 | 1 = 0;
  maxBlobsPerBlock = 6;
  /** `undefined`: the call fails */
  gasEstimate: bigint | undefined = 100_000n;
  /** ether that arrives in a block, for `accountAfter` */
  readonly received = new Map<number, bigint>();
  /** the states of blocks up to this one are pruned */
  prunedUpTo = -1;
  readonly pool = new Map<bigint, SimTransaction>();
  /** blobs of all transactions that the pool ever accepted, by versioned hash */
  readonly blobs = new Map<Hex, Uint8Array>();
  /** where each transaction was included last */
  readonly #places = new Map<Hex, number>();
  readonly #hash: (draft: SimL1Draft) => Hex;
  #salt = 0;

  /** @param hash of a block */
  constructor(hash: (draft: SimL1Draft) => Hex = numberedHash) {
    this.#hash = hash;
    this.mine();
  }

  get headNumber(): number {
    return this.blocks.length - 1;
  }

  /** Mines a block with everything in the pool that pays enough, in the order of nonces. */
  mine(): void {
    const number = this.blocks.length;
    if (this.amsterdamAt !== undefined) this.dataPricing = L1_DATA_PRICINGS[number < this.amsterdamAt ? 1 : 2];
    const included: SimTransaction[] = [];
    let nonce = this.#nonceAt(number - 1);
    for (;;) {
      const next = this.pool.get(nonce);
      if (!this.includes || next === undefined || !this.#isPaidEnough(next) || !this.#hasEnoughGas(next)) break;
      const blobCount = [...included, next].reduce((sum, tx) => sum + (tx.type === 0x03 ? tx.blobVersionedHashes.length : 0), 0);
      if (blobCount > this.maxBlobsPerBlock) break;
      included.push(next);
      this.pool.delete(nonce);
      nonce++;
    }
    for (const old of this.pool.keys()) if (old < nonce) this.pool.delete(old);
    for (const tx of included) this.#places.set(bytesToHex(hashTransaction(tx)), number);
    const draft: SimL1Draft = {
      ref: {
        number,
        parentHash: this.blocks[number - 1]?.ref.hash ?? `0x${"00".repeat(32)}`,
        timestamp: 1_800_000_000 + 12 * number,
      },
      salt: this.#salt++,
      transactions: included,
      baseFee: this.baseFee,
      blobBaseFee: this.blobBaseFee,
      dataPricing: this.dataPricing,
      nonce,
    };
    this.blocks.push({ ...draft, ref: { ...draft.ref, hash: this.#hash(draft) } });
  }

  #hasEnoughGas(tx: SimTransaction): boolean {
    const needed = l1DataGas(this.dataPricing, tx.data, tx.value > 0n);
    return tx.gasLimit >= needed && needed <= MAX_L1_TRANSACTION_GAS;
  }

  #isPaidEnough(tx: SimTransaction): boolean {
    return tx.maxFeePerGas >= this.baseFee && (tx.type !== 0x03 || tx.maxFeePerBlobGas >= this.blobBaseFee);
  }

  /** Replaces the newest `depth` blocks by one more; their transactions return to the pool, or are lost. */
  reorg(depth: number, isLost: boolean): void {
    const removed = this.blocks.splice(this.blocks.length - depth, depth);
    if (!isLost) for (const tx of removed.flatMap(({ transactions }) => transactions)) this.pool.set(tx.nonce, tx);
    const { includes } = this;
    this.includes = false;
    for (let i = 0; i <= depth; i++) this.mine();
    this.includes = includes;
  }

  /** Replaces the newest block by a sibling with the same transactions, or other ones if more have come. */
  replaceHead(): void {
    for (const tx of this.blocks.pop()!.transactions) this.pool.set(tx.nonce, tx);
    this.mine();
  }

  get transactions(): readonly SimTransaction[] {
    return this.blocks.flatMap(({ transactions }) => transactions);
  }

  #nonceAt(number: number): bigint {
    return this.blocks[number]?.nonce ?? 0n;
  }

  #answer<T>(value: T): Promise<T> {
    return this.isDown ? Promise.reject(new Error("L1 is away")) : Promise.resolve(value);
  }

  blockHash(number: number): Promise<Hex | undefined> {
    return this.#answer(this.blocks[number]?.ref.hash);
  }
  transactionsAt(number: number): Promise<readonly SimTransaction[] | undefined> {
    return this.#answer(this.blocks[number]?.transactions);
  }
  head(): Promise<L1BlockRef> {
    return this.#answer(this.blocks.at(-1)!.ref);
  }
  nonceAt(_address: Uint8Array, blockNumber: number): Promise<bigint | undefined> {
    return this.#answer(this.prunedUpTo >= blockNumber ? undefined : this.#nonceAt(blockNumber));
  }
  accountAfter(_address: Uint8Array, blockNumber: number): Promise<{ balanceWei: bigint; timestampSec: number } | undefined> {
    const block = this.blocks[blockNumber];
    if (block === undefined || this.prunedUpTo >= blockNumber) return this.#answer(undefined);
    let balanceWei = FIRST_BALANCE;
    for (const each of this.blocks.slice(0, blockNumber + 1)) {
      balanceWei += this.received.get(each.ref.number) ?? 0n;
      for (const tx of each.transactions) balanceWei -= simFeeWei(tx, each);
    }
    return this.#answer({ balanceWei, timestampSec: block.ref.timestamp });
  }
  nonce(_address: Uint8Array, block: "latest" | "pending"): Promise<bigint> {
    let nonce = this.#nonceAt(this.headNumber);
    if (block === "pending") while (this.pool.has(nonce)) nonce++;
    return this.#answer(nonce);
  }
  estimateGas(): Promise<bigint> {
    return this.gasEstimate === undefined ? Promise.reject(new Error("execution reverted")) : this.#answer(this.gasEstimate);
  }
  balance(): Promise<bigint> {
    return this.#answer(this.accountBalance);
  }
  feeMarket({ withBlobs }: { readonly withBlobs: boolean }): Promise<L1FeeMarket> {
    const { tip, baseFee, blobBaseFee, dataPricing } = this;
    return this.#answer({ tip, baseFee, blobBaseFee: withBlobs ? blobBaseFee : undefined, dataPricing });
  }

  send(raw: Uint8Array): Promise<{ verdict: SendVerdict; message: string }> {
    if (this.isDown) return Promise.reject(new Error("L1 is away"));
    const { transaction: tx, sidecar } =
      raw[0] === 0x03
        ? decodeBlobTransactionWithSidecar(raw)
        : { transaction: decodeTransaction(raw) as FeeMarketTransaction, sidecar: undefined };
    recoverSender(tx);
    const isWrong = sidecar !== undefined && sidecar.version !== this.sidecarVersion;
    const verdict = isWrong ? "wrong-sidecar" : this.#poolVerdict(tx);
    if (verdict === "accepted") {
      this.pool.set(tx.nonce, tx);
      const hashes = tx.type === 0x03 ? tx.blobVersionedHashes : [];
      for (const [i, hash] of hashes.entries()) this.blobs.set(bytesToHex(hash), sidecar!.blobs[i]!);
    }
    return this.losesAnswers ? Promise.reject(new Error("timeout")) : Promise.resolve({ verdict, message: verdict });
  }

  #poolVerdict(tx: SimTransaction): SendVerdict {
    if (tx.nonce < this.#nonceAt(this.headNumber)) return "nonce-too-low";
    if (!this.#hasEnoughGas(tx)) return "too-little-gas";
    if (maxCostWei(tx) > this.accountBalance) return "insufficient-funds";
    if ([...this.pool.values()].some(({ type }) => (type === 0x03) !== (tx.type === 0x03))) return "address-reserved";
    const old = this.pool.get(tx.nonce);
    if (old === undefined || bytesToHex(hashTransaction(old)) === bytesToHex(hashTransaction(tx))) return "accepted";
    const percent = tx.type === 0x03 ? 200n : 110n;
    const paysMore = (now: bigint, before: bigint): boolean => now * 100n >= before * percent;
    const blobFee = (some: SimTransaction): bigint => (some.type === 0x03 ? some.maxFeePerBlobGas : 0n);
    const pays =
      paysMore(tx.maxFeePerGas, old.maxFeePerGas) &&
      paysMore(tx.maxPriorityFeePerGas, old.maxPriorityFeePerGas) &&
      paysMore(blobFee(tx), blobFee(old));
    return pays ? "accepted" : "underpriced";
  }

  inclusion(hash: Hex): Promise<L1Inclusion | undefined> {
    const place = this.#places.get(hash);
    const block = place === undefined ? undefined : this.blocks[place];
    const tx = block?.transactions.find((each) => bytesToHex(hashTransaction(each)) === hash);
    if (block === undefined || tx === undefined) return this.#answer(undefined);
    const feeWei = simFeeWei(tx, block);
    return this.#answer({ blockNumber: block.ref.number, blockHash: block.ref.hash, feeWei });
  }
}

const numberedHash = ({ ref, salt }: SimL1Draft): Hex => bytesToHex(keccak256(uint64ToBytes(ref.number), uint64ToBytes(salt)));

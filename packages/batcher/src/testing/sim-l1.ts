import type { L1FeeMarket, L1Inclusion, SendVerdict } from "@rnode/l1";
import { bytesToHex, type Hex, hexToBytes, keccak256, uint64ToBytes } from "@rnode/primitives";
import {
  type BlobTransaction,
  decodeBlobTransactionWithSidecar,
  decodeTransaction,
  type FeeMarketTransaction,
  hashTransaction,
  type L1BlockRef,
  recoverSender,
} from "@rnode/protocol";
import type { L1Access } from "../l1-access.ts";

type SimTransaction = FeeMarketTransaction | BlobTransaction;

export interface SimL1Block {
  readonly ref: L1BlockRef;
  readonly transactions: readonly SimTransaction[];
}

const GWEI = 10n ** 9n;

/** An L1 with one account: a pool with Geth's replacement rules, blocks and reorganisations on demand. */
export class SimL1 implements L1Access {
  readonly blocks: SimL1Block[] = [];
  baseFee = 10n * GWEI;
  tip = GWEI;
  blobBaseFee = GWEI;
  accountBalance = 10n ** 18n;
  /** true: calls fail, as those to an unreachable endpoint do */
  isDown = false;
  /** the answer to `send` is lost, but the pool accepts the transaction */
  losesAnswers = false;
  /** false: pending transactions are not included */
  includes = true;
  /** the states of blocks up to this one are pruned */
  prunedUpTo = -1;
  readonly pool = new Map<bigint, SimTransaction>();
  #salt = 0;

  constructor() {
    this.mine();
  }

  get headNumber(): number {
    return this.blocks.length - 1;
  }

  /** Mines a block with everything in the pool that pays enough, in the order of nonces. */
  mine(): void {
    const number = this.blocks.length;
    const included: SimTransaction[] = [];
    let nonce = this.#nonceAt(number - 1);
    for (;;) {
      const next = this.pool.get(nonce);
      if (!this.includes || next === undefined || next.maxFeePerGas < this.baseFee) break;
      included.push(next);
      this.pool.delete(nonce);
      nonce++;
    }
    for (const old of this.pool.keys()) if (old < nonce) this.pool.delete(old);
    const parent = this.blocks[number - 1]?.ref;
    const hash = bytesToHex(keccak256(uint64ToBytes(number), uint64ToBytes(this.#salt++)));
    const ref = {
      number,
      hash,
      parentHash: parent?.hash ?? (`0x${"00".repeat(32)}` as Hex),
      timestamp: 1_800_000_000 + 12 * number,
    };
    this.blocks.push({ ref, transactions: included });
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

  get transactions(): readonly SimTransaction[] {
    return this.blocks.flatMap(({ transactions }) => transactions);
  }

  #nonceAt(number: number): bigint {
    let count = 0n;
    for (const { ref, transactions } of this.blocks) if (ref.number <= number) count += BigInt(transactions.length);
    return count;
  }

  #answer<T>(value: T): Promise<T> {
    return this.isDown ? Promise.reject(new Error("L1 is away")) : Promise.resolve(value);
  }

  head(): Promise<L1BlockRef> {
    return this.#answer(this.blocks.at(-1)!.ref);
  }
  nonceAt(_address: Uint8Array, blockNumber: number): Promise<bigint | undefined> {
    return this.#answer(this.prunedUpTo >= blockNumber ? undefined : this.#nonceAt(blockNumber));
  }
  nonce(_address: Uint8Array, block: "latest" | "pending"): Promise<bigint> {
    let nonce = this.#nonceAt(this.headNumber);
    if (block === "pending") while (this.pool.has(nonce)) nonce++;
    return this.#answer(nonce);
  }
  balance(): Promise<bigint> {
    return this.#answer(this.accountBalance);
  }
  feeMarket({ withBlobs }: { readonly withBlobs: boolean }): Promise<L1FeeMarket> {
    const { tip, baseFee, blobBaseFee } = this;
    return this.#answer({ tip, baseFee, blobBaseFee: withBlobs ? blobBaseFee : undefined });
  }

  send(raw: Uint8Array): Promise<{ verdict: SendVerdict; message: string }> {
    if (this.isDown) return Promise.reject(new Error("L1 is away"));
    const tx =
      raw[0] === 0x03 ? decodeBlobTransactionWithSidecar(raw).transaction : (decodeTransaction(raw) as FeeMarketTransaction);
    recoverSender(tx);
    const verdict = this.#poolVerdict(tx);
    if (verdict === "accepted") this.pool.set(tx.nonce, tx);
    return this.losesAnswers ? Promise.reject(new Error("timeout")) : Promise.resolve({ verdict, message: verdict });
  }

  #poolVerdict(tx: SimTransaction): SendVerdict {
    if (tx.nonce < this.#nonceAt(this.headNumber)) return "nonce-too-low";
    if (tx.gasLimit * tx.maxFeePerGas > this.accountBalance) return "insufficient-funds";
    const old = this.pool.get(tx.nonce);
    if (old === undefined || bytesToHex(hashTransaction(old)) === bytesToHex(hashTransaction(tx))) return "accepted";
    const percent = tx.type === 0x03 || old.type === 0x03 ? 200n : 110n;
    const paysMore = (now: bigint, before: bigint): boolean => now * 100n >= before * percent;
    const blobFee = (some: SimTransaction): bigint => (some.type === 0x03 ? some.maxFeePerBlobGas : 0n);
    const pays =
      paysMore(tx.maxFeePerGas, old.maxFeePerGas) &&
      paysMore(tx.maxPriorityFeePerGas, old.maxPriorityFeePerGas) &&
      paysMore(blobFee(tx), blobFee(old));
    return pays ? "accepted" : "underpriced";
  }

  inclusion(hash: Hex): Promise<L1Inclusion | undefined> {
    const wanted = bytesToHex(hexToBytes(hash));
    const block = this.blocks.find(({ transactions }) => transactions.some((tx) => bytesToHex(hashTransaction(tx)) === wanted));
    return this.#answer(block && { blockNumber: block.ref.number, blockHash: block.ref.hash });
  }
}

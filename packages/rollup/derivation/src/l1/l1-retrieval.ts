import { bytesToHex, equalBytes, type Hex, isCodedError } from "@rnode/primitives";
import {
  decodeBlob,
  hashTransaction,
  type L1BlockRef,
  type L1Transaction,
  type RollupConfig,
  recoverSender,
  type Transaction,
} from "@rnode/protocol";
import type { DerivationObserver } from "../observer.ts";
import { EXHAUSTED, type PipelineStage, type Pull, type Source } from "../pull.ts";
import { BLOB_TRANSACTION, withBlobIds } from "./blob-ids.ts";
import type { L1Position } from "./l1-traversal.ts";
import type { BlobId, BlobProvider, L1Provider } from "./providers.ts";

/** Includes deposits: if the L1 is itself an OP Stack chain, the batcher can be a contract. */
const BATCHER_TRANSACTION_TYPES: readonly number[] = [0x00, 0x01, 0x02, BLOB_TRANSACTION, 0x7e];

/** A piece of batcher data to retrieve: the calldata of a transaction, or one of its blobs. */
interface DataItem {
  readonly transaction: Transaction;
  readonly source: { readonly kind: "calldata"; readonly data: Uint8Array } | { readonly kind: "blob"; readonly id: BlobId };
}

/** The content of a transaction's calldata or of a blob. */
export interface BatcherData {
  readonly bytes: Uint8Array;
  readonly transactionHash: Hex;
}

/** The batcher data of each L1 block, in order. Spec: docs/protocol/02-derivation.md#l1-retrieval */
export class L1Retrieval implements PipelineStage<BatcherData> {
  readonly #config: RollupConfig;
  readonly #position: L1Position;
  readonly #previous: Source<L1BlockRef>;
  readonly #l1: L1Provider;
  readonly #blobs: BlobProvider;
  readonly #observer: DerivationObserver;
  /** the block to open next; kept until that has succeeded */
  #block: L1BlockRef | undefined;
  #items: BatcherData[] | undefined;

  constructor(
    config: RollupConfig,
    position: L1Position,
    previous: Source<L1BlockRef>,
    providers: { readonly l1: L1Provider; readonly blobs: BlobProvider },
    observer: DerivationObserver,
  ) {
    this.#config = config;
    this.#position = position;
    this.#previous = previous;
    this.#l1 = providers.l1;
    this.#blobs = providers.blobs;
    this.#observer = observer;
  }

  reset(): void {
    this.#block = undefined;
    this.#items = undefined;
  }

  /** Nothing is left by then: L1 moves on when its block is used up. */
  activateStrictOrder(): void {}

  async next(...args: Parameters<Source<L1BlockRef>["next"]>): Promise<Pull<BatcherData>> {
    if (this.#items === undefined) {
      if (this.#block === undefined) {
        const pulled = await this.#previous.next(...args);
        if (pulled.kind !== "value") return pulled;
        this.#block = pulled.value;
      }
      const opened = await this.#open(this.#block);
      if (opened.kind !== "value") return opened;
      this.#items = opened.value;
      this.#block = undefined;
    }
    const value = this.#items.shift();
    if (value !== undefined) return { kind: "value", value };
    this.#items = undefined;
    return EXHAUSTED;
  }

  async #open(block: L1BlockRef): Promise<Pull<BatcherData[]>> {
    const transactions = await this.#l1.transactions(block.hash);
    if (transactions === undefined)
      return { kind: "reset", reason: "l1-reorg", detail: `L1 block ${block.number} ${block.hash} is gone` };
    const items = this.#batcherItems(transactions);
    const ids = items.flatMap(({ source }) => (source.kind === "blob" ? [source.id] : []));
    const blobs = ids.length === 0 ? [] : await this.#blobs.blobs(block, ids);
    if (blobs === undefined) {
      const detail = `the ${ids.length} batcher blobs of L1 block ${block.number} ${block.hash} are not available`;
      return { kind: "reset", reason: "blobs-missing", detail };
    }
    return { kind: "value", value: this.#contents(block, items, blobs) };
  }

  #batcherItems(transactions: readonly L1Transaction[]): DataItem[] {
    const items: DataItem[] = [];
    for (const { transaction, blobIds } of withBlobIds(transactions)) {
      if (!this.#isFromBatcher(transaction)) continue;
      if (transaction.type === BLOB_TRANSACTION && this.#position.rules.readsBlobs) {
        for (const id of blobIds) items.push({ transaction, source: { kind: "blob", id } });
      } else {
        items.push({ transaction, source: { kind: "calldata", data: transaction.data } });
      }
    }
    return items;
  }

  #isFromBatcher(transaction: Transaction): boolean {
    if (!BATCHER_TRANSACTION_TYPES.includes(transaction.type)) return false;
    if (transaction.to === undefined || !equalBytes(transaction.to, this.#config.batchInboxAddress)) return false;
    try {
      return equalBytes(recoverSender(transaction), this.#position.systemConfig.batcherAddress);
    } catch (error) {
      if (isCodedError(error, "tx/")) return false;
      throw error;
    }
  }

  #contents(block: L1BlockRef, items: readonly DataItem[], blobs: readonly Uint8Array[]): BatcherData[] {
    const contents: BatcherData[] = [];
    let nextBlob = 0;
    for (const { transaction, source } of items) {
      const isBlob = source.kind === "blob";
      const bytes = isBlob ? blobs[nextBlob++]! : source.data;
      const transactionHash = bytesToHex(hashTransaction(transaction));
      this.#observer.onData({
        block,
        transactionHash,
        source: source.kind,
        ...(isBlob ? { blobIndex: source.id.index } : {}),
        sizeBytes: bytes.length,
      });
      if (!isBlob) {
        contents.push({ bytes, transactionHash });
        continue;
      }
      try {
        contents.push({ bytes: decodeBlob(bytes), transactionHash });
      } catch (error) {
        if (!isCodedError(error, "blob/")) throw error;
        this.#observer.onDataDropped({ block, transactionHash, reason: "bad-blob" });
      }
    }
    return contents;
  }
}

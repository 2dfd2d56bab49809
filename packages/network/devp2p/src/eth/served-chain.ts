import { encodeRlp, encodeRlpListOfEncoded, equalBytes, hexToBytes, RlpWriter, readRlpSpan } from "@rnode/primitives";
import { encodeReceipt } from "@rnode/protocol";
import { type ChainDatabase, rlpEnd } from "@rnode/storage";
import type { HeaderRequest } from "../api.ts";
import type { EthVersion } from "./messages.ts";

/** Geth's: an answer is complete when it has this size; the last item may exceed it. */
const SOFT_ANSWER_BYTES = 2 * 1024 * 1024;
const MAX_HEADERS = 1024;
/** of bodies and of receipts */
const MAX_BLOCKS = 1024;
/** Hashes that a request may contain. */
export const MAX_REQUESTED_HASHES = 2 * MAX_BLOCKS;

export interface ServedHead {
  readonly number: number;
  readonly hash: Uint8Array;
  readonly timestamp: number;
  readonly totalDifficulty: bigint;
}

/** The database for peers: reads only, within Geth's limits for answers. */
export class ServedChain {
  readonly #store: ChainDatabase;
  readonly #writer = new RlpWriter();
  #head: ServedHead | undefined;

  constructor(store: ChainDatabase) {
    this.#store = store;
  }

  /** As of the last commit. */
  head(): ServedHead {
    this.#store.refresh();
    const head = this.#store.head();
    if (head === undefined) throw new Error("the database has no genesis");
    const hash = hexToBytes(head.hash);
    if (this.#head !== undefined && equalBytes(this.#head.hash, hash)) return this.#head;
    const timestamp = this.#store.readHeader(hash)?.timestamp ?? 0;
    const totalDifficulty = this.#store.readTotalDifficulty(hash) ?? 0n;
    const served = { number: head.number, hash, timestamp, totalDifficulty };
    this.#head = served;
    return served;
  }

  /**
   * The first block with an available body and receipts. Above the head, if not even its receipts are there: then the head, because peers refuse a range that
   * ends before it begins.
   */
  get earliestBlock(): number {
    return Math.min(this.#store.retainedHistory()?.oldestReceipts ?? 0, this.head().number);
  }

  /** RLP of headers. An unknown start: none. */
  headers({ start, limit, skip = 0, reverse = false }: HeaderRequest): Uint8Array[] {
    this.#store.refresh();
    const headers: Uint8Array[] = [];
    let number = typeof start === "number" ? start : this.#store.readHeader(start)?.number;
    if (number === undefined) return headers;
    const step = (skip + 1) * (reverse ? -1 : 1);
    let bytes = 0;
    for (let count = Math.min(limit, MAX_HEADERS); count > 0 && number >= 0; count--, number += step) {
      if (!Number.isSafeInteger(number)) break;
      const hash = this.#store.readCanonicalHash(number);
      const header = hash && this.#store.readParts(hash)?.encodedHeader;
      if (header === undefined) break;
      headers.push(header);
      bytes += header.length;
      if (bytes >= SOFT_ANSWER_BYTES) break;
    }
    return headers;
  }

  /** RLP of bodies, up to the first block that is not there. */
  bodies(hashes: readonly Uint8Array[]): Uint8Array[] {
    return this.#each(hashes, (hash) => this.#body(hash));
  }

  /** RLP of the lists of receipts, up to the first block whose receipts are not there. */
  receipts(hashes: readonly Uint8Array[], version: EthVersion): Uint8Array[] {
    return this.#each(hashes, (hash) => (version === 68 ? this.#consensusReceipts(hash) : this.#receipts(hash)));
  }

  #each(hashes: readonly Uint8Array[], read: (hash: Uint8Array) => Uint8Array | undefined): Uint8Array[] {
    this.#store.refresh();
    const found: Uint8Array[] = [];
    let bytes = 0;
    for (const hash of hashes) {
      if (bytes >= SOFT_ANSWER_BYTES || found.length >= MAX_BLOCKS) break;
      const item = read(hash);
      if (item === undefined) break;
      found.push(item);
      bytes += item.length;
    }
    return found;
  }

  #body(hash: Uint8Array): Uint8Array | undefined {
    const parts = this.#store.readParts(hash);
    if (parts === undefined) return undefined;
    const writer = this.#writer;
    writer.start();
    const { rest } = parts;
    writer.raw(rest.subarray(readRlpSpan(rest, 0).dataStart));
    const end = writer.size;
    for (let index = parts.count - 1; index >= 0; index--) {
      parts.seekTransaction(index);
      const encoded = parts.bytes.subarray(parts.transactionAt, parts.transactionEnd);
      if (encoded[0]! >= 0xc0) writer.raw(encoded);
      else writer.string(encoded);
    }
    writer.list(end);
    writer.list(0);
    return writer.take();
  }

  /** In the form of eth/69: [type, status or root, cumulative gas used, logs, …], without blooms. */
  #receipts(hash: Uint8Array): Uint8Array | undefined {
    const parts = this.#store.readParts(hash);
    if (parts === undefined || !parts.hasReceipts) return undefined;
    const receipts: Uint8Array[] = [];
    for (let index = 0; index < parts.count; index++) {
      parts.seekReceipt(index);
      receipts.push(parts.bytes.slice(parts.receiptAt, rlpEnd(parts.bytes, parts.receiptAt)));
    }
    return encodeRlpListOfEncoded(receipts);
  }

  /** In the form of eth/68: as the receipts root has them. */
  #consensusReceipts(hash: Uint8Array): Uint8Array | undefined {
    const receipts = this.#store.readReceipts(hash);
    return (
      receipts &&
      encodeRlpListOfEncoded(
        receipts.map((receipt) => {
          const encoded = encodeReceipt(receipt, "network");
          return receipt.type === 0 ? encoded : encodeRlp(encoded);
        }),
      )
    );
  }
}

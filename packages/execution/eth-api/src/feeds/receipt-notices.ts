import type { StoredBlock } from "@rnode/chain";
import type { JsonText } from "@rnode/jsonrpc";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { hashTransaction } from "@rnode/protocol";
import { partsOfBlock } from "@rnode/storage";
import { type ReadBackend, rulesAt } from "../backend/backend.ts";
import { PartsWriter } from "../json/parts-writer.ts";

/** Positions of a block's transactions by hash, made once for all subscriptions. */
const positions = new WeakMap<StoredBlock, ReadonlyMap<Hex, number>>();

function positionsIn(stored: StoredBlock): ReadonlyMap<Hex, number> {
  let known = positions.get(stored);
  if (known === undefined) {
    known = new Map(stored.block.transactions.map((transaction, index) => [bytesToHex(hashTransaction(transaction)), index]));
    positions.set(stored, known);
  }
  return known;
}

/**
 * Notifications of the subscription `transactionReceipts`: for each block an array of receipts as `eth_getTransactionReceipt` shows
 * them, none if the array would be empty.
 */
export class ReceiptNotices {
  readonly #writer: PartsWriter;
  /** of whole blocks, made once for all subscriptions without a filter */
  readonly #whole = new WeakMap<StoredBlock, JsonText>();

  constructor(backend: ReadBackend) {
    this.#writer = new PartsWriter({ profile: backend.profile, rulesOf: (parts) => rulesAt(backend, parts) });
  }

  /** @param wanted transaction hashes; undefined: all. @returns undefined: the block holds none of them */
  ofBlock(stored: StoredBlock, wanted: ReadonlySet<Hex> | undefined): JsonText | undefined {
    if (stored.block.transactions.length === 0) return undefined;
    if (wanted === undefined) return this.#ofAll(stored);
    const found: number[] = [];
    const known = positionsIn(stored);
    for (const hash of wanted) {
      const index = known.get(hash);
      if (index !== undefined) found.push(index);
    }
    if (found.length === 0) return undefined;
    this.#writer.open(partsOfBlock(stored)).receiptsAt(found.sort((a, b) => a - b));
    return this.#writer.json.takeJson();
  }

  #ofAll(stored: StoredBlock): JsonText {
    let text = this.#whole.get(stored);
    if (text === undefined) {
      this.#writer.open(partsOfBlock(stored)).receipts();
      this.#whole.set(stored, (text = this.#writer.json.takeJson()));
    }
    return text;
  }
}

import { bytesToHex, type Hex, hexToBytes } from "@rnode/primitives";
import type { ChainStoreReader } from "@rnode/storage";
import type { BlockSelector, StoredBlock } from "../api.ts";

/** Whether the block is canonical. */
export function isCanonicalBlock(store: ChainStoreReader, hash: Hex, number: number): boolean {
  const head = store.head();
  const canonical = head !== undefined && number <= head.number ? store.readCanonicalHash(number) : undefined;
  return canonical !== undefined && bytesToHex(canonical) === hash;
}

/**
 * The hash of the selected block. A block selected by hash may be unknown unless it has to be canonical.
 *
 * @param numberOf looks up blocks that may not be stored; undefined: unknown block
 */
export function hashOfSelector(
  store: ChainStoreReader,
  genesisHash: Uint8Array,
  selector: BlockSelector,
  numberOf: (hash: Uint8Array) => number | undefined,
): Uint8Array | undefined {
  switch (selector.kind) {
    case "hash": {
      if (!selector.requireCanonical) return selector.hash;
      const number = numberOf(selector.hash);
      return number !== undefined && isCanonicalBlock(store, bytesToHex(selector.hash), number) ? selector.hash : undefined;
    }
    case "number":
      return selector.number > store.head()!.number ? undefined : store.readCanonicalHash(selector.number);
    case "tag":
      switch (selector.tag) {
        case "latest":
        case "pending": // the block under construction is not shown
          return hexToBytes(store.head()!.hash);
        case "earliest":
          return genesisHash;
        case "safe":
        case "finalized": {
          const label = store.label(selector.tag);
          return label === undefined ? undefined : hexToBytes(label.hash);
        }
      }
  }
}

/** @returns undefined also for a block whose receipts were pruned */
export function readStoredBlock(store: ChainStoreReader, hash: Uint8Array): StoredBlock | undefined {
  const block = store.readBlock(hash);
  const receipts = store.readReceipts(hash);
  const senders = store.readSenders(hash);
  return block === undefined || receipts === undefined || senders === undefined ? undefined : { hash, block, receipts, senders };
}

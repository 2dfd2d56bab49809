import { bytesToHex, EMPTY_TRIE_ROOT, equalBytes, hexToFixedBytes, keccak256, parseQuantityNumber } from "@rnode/primitives";
import { encodeTransaction, isKnownTransactionType, type L1Transaction, transactionFromRpc } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { faultyAnswer, readAnswer } from "../l1-error.ts";
import type { VerifiedHeader } from "./verified-header.ts";

/** of a transaction and its hash, without its data */
const TRANSACTION_BYTES = 1_200;

/**
 * All transactions of a block in order, checked against the transactions root of a verified header. Only `check` and `noneOf`
 * create one.
 *
 * With `trust` (`--l1.trustrpc`) the root is not recomputed, and hashes are taken from the answer. An empty list requires the empty
 * root in any case.
 */
export class VerifiedTransactions {
  readonly block: VerifiedHeader;
  readonly list: readonly L1Transaction[];
  /** in memory, roughly */
  readonly sizeBytes: number;
  readonly #hashes: readonly Uint8Array[];

  private constructor(block: VerifiedHeader, list: readonly L1Transaction[], hashes: readonly Uint8Array[]) {
    this.block = block;
    this.list = list;
    this.sizeBytes = list.reduce((sum, each) => sum + TRANSACTION_BYTES + (each.type === "unknown" ? 0 : each.data.length), 0);
    this.#hashes = hashes;
  }

  /** of each transaction, 32 bytes */
  get hashes(): readonly Uint8Array[] {
    return this.#hashes;
  }

  /** The empty list if the header's root is that of the empty list; undefined if the block has transactions. */
  static noneOf(block: VerifiedHeader): VerifiedTransactions | undefined {
    return hasNoTransactions(block) ? new VerifiedTransactions(block, [], []) : undefined;
  }

  /**
   * @param json the block object of `block` with full transactions
   * @param raw the encodings of transactions of unknown types, by their index; not needed with `trust`
   * @throws {L1Error} l1/faulty-answer
   */
  static check(
    json: unknown,
    block: VerifiedHeader,
    trust: boolean,
    raw: ReadonlyMap<number, Uint8Array> = new Map(),
  ): VerifiedTransactions {
    return readAnswer("transactions", () => {
      const entries = entriesOf(json, block);
      for (const [index, entry] of entries.entries()) assertPlace(entry, index, block);
      const list = entries.map((entry): L1Transaction => {
        const typeByte = unknownTypeOf(entry);
        return typeByte === undefined ? transactionFromRpc(entry) : { type: "unknown", typeByte };
      });
      if ((list.length === 0) !== hasNoTransactions(block)) {
        throw faultyAnswer("number of transactions", { block: block.hash, got: list.length });
      }
      if (trust) return new VerifiedTransactions(block, list, entries.map(statedHashOf));
      const encoded = list.map((each, index) =>
        each.type === "unknown" ? encodingOf(each.typeByte, raw.get(index), block, index) : encodeTransaction(each),
      );
      const root = orderedTrieRoot(encoded);
      if (!equalBytes(root, block.header.transactionsRoot)) {
        const stated = bytesToHex(block.header.transactionsRoot);
        throw faultyAnswer("transactions root", { block: block.hash, stated, computed: bytesToHex(root) });
      }
      return new VerifiedTransactions(
        block,
        list,
        encoded.map((bytes) => keccak256(bytes)),
      );
    });
  }
}

function entriesOf(json: unknown, block: VerifiedHeader): readonly unknown[] {
  const entries = (json as { readonly transactions?: unknown } | null | undefined)?.transactions;
  if (!Array.isArray(entries)) throw faultyAnswer("block without a transaction list", { block: block.hash });
  return entries;
}

/** The type of a transaction object if it is unknown. @throws {CodedError} quantity/* */
function unknownTypeOf(entry: unknown): number | undefined {
  const { type } = (entry ?? {}) as { readonly type?: unknown };
  if (typeof type !== "string") return undefined;
  const typeByte = parseQuantityNumber(type);
  return isKnownTransactionType(typeByte) ? undefined : typeByte;
}

export interface UnknownEntry {
  readonly index: number;
  readonly typeByte: number;
  /** as the endpoint states it */
  readonly hash: Uint8Array;
}

/** The transactions of a block object with unknown types. @throws {L1Error} l1/faulty-answer */
export function unknownTransactions(json: unknown, block: VerifiedHeader): readonly UnknownEntry[] {
  return readAnswer("transactions", () =>
    entriesOf(json, block).flatMap((entry, index) => {
      const typeByte = unknownTypeOf(entry);
      return typeByte === undefined ? [] : [{ index, typeByte, hash: statedHashOf(entry) }];
    }),
  );
}

function encodingOf(typeByte: number, encoded: Uint8Array | undefined, block: VerifiedHeader, index: number): Uint8Array {
  if (encoded?.[0] !== typeByte) throw faultyAnswer("raw transaction of another type", { block: block.hash, index, typeByte });
  return encoded;
}

const hasNoTransactions = ({ header }: VerifiedHeader): boolean => equalBytes(header.transactionsRoot, EMPTY_TRIE_ROOT);

interface StatedPlace {
  readonly hash?: unknown;
  readonly blockHash?: unknown;
  readonly transactionIndex?: unknown;
}

/** A transaction's statement about its position must be right: this detects the list of another block without hashing. */
function assertPlace(entry: unknown, index: number, block: VerifiedHeader): void {
  const { blockHash, transactionIndex } = (entry ?? {}) as StatedPlace;
  const isMissing = (value: unknown): boolean => value === undefined || value === null;
  if (!isMissing(blockHash) && bytesToHex(hexToFixedBytes(String(blockHash), 32)) !== block.hash) {
    throw faultyAnswer("transaction blockHash", { block: block.hash, index });
  }
  if (!isMissing(transactionIndex) && parseQuantityNumber(String(transactionIndex)) !== index) {
    throw faultyAnswer("transaction transactionIndex", { block: block.hash, index });
  }
}

function statedHashOf(entry: unknown): Uint8Array {
  const { hash } = entry as StatedPlace;
  if (typeof hash !== "string") throw faultyAnswer("transaction without a hash");
  return hexToFixedBytes(hash, 32);
}

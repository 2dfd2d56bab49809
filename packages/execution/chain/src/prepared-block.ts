import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { type Block, encodeHeader, encodeTransaction, type Header, hashTransaction } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";

/** Derived values that the sender of a block already has. */
export interface KnownParts {
  /** must be the root of exactly these transactions */
  readonly transactionsRoot?: Uint8Array | undefined;
  readonly transactionHashes?: readonly Uint8Array[] | undefined;
  readonly senders?: readonly Uint8Array[] | undefined;
}

/**
 * A block on its way from its sender or builder to the database. Everything derived from its bytes is computed on first use, and only
 * once.
 */
export class PreparedBlock {
  readonly block: Block;
  /** the sender of each transaction; undefined: not recovered yet */
  readonly senders: readonly Uint8Array[] | undefined;
  #encodedHeader: Uint8Array | undefined;
  #hash: Uint8Array | undefined;
  #hashHex: Hex | undefined;
  #encodedTransactions: readonly Uint8Array[] | undefined;
  #transactionHashes: readonly Uint8Array[] | undefined;
  #transactionsRoot: Uint8Array | undefined;

  constructor(block: Block, { transactionsRoot, transactionHashes, senders }: KnownParts = {}) {
    this.block = block;
    this.senders = senders;
    this.#transactionsRoot = transactionsRoot;
    this.#transactionHashes = transactionHashes;
  }

  get header(): Header {
    return this.block.header;
  }

  /** the RLP that is hashed and stored */
  get encodedHeader(): Uint8Array {
    return (this.#encodedHeader ??= encodeHeader(this.block.header));
  }

  /** hash of the block, that is, of its header */
  get hash(): Uint8Array {
    return (this.#hash ??= keccak256(this.encodedHeader));
  }

  get hashHex(): Hex {
    return (this.#hashHex ??= bytesToHex(this.hash));
  }

  /** complete EIP-2718 encodings */
  get encodedTransactions(): readonly Uint8Array[] {
    return (this.#encodedTransactions ??= this.block.transactions.map(encodeTransaction));
  }

  get transactionHashes(): readonly Uint8Array[] {
    return (this.#transactionHashes ??= this.block.transactions.map(hashTransaction));
  }

  /** root of the transactions in the body, whatever the header says */
  get transactionsRoot(): Uint8Array {
    return (this.#transactionsRoot ??= orderedTrieRoot(this.encodedTransactions));
  }
}

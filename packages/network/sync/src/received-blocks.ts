import type { PreparedBlock } from "@rnode/chain";
import { bytesToHex, type Hex } from "@rnode/primitives";
import type { VerifiedBlock } from "./blocks/verified-body.ts";
import type { HashedHeader } from "./headers/verified-header.ts";

/** More than half an hour of blocks. */
const MAX_BLOCKS = 1_024;
const MAX_BYTES = 32 << 20;
const ROUGH_TRANSACTION_BYTES = 250;

/**
 * Payloads of the rollup node with missing parents, which need not be fetched from peers. Beyond the limits, the oldest are
 * dropped.
 */
export class ReceivedBlocks {
  readonly #blocks = new Map<Hex, { readonly prepared: PreparedBlock; readonly bytes: number }>();
  #bytes = 0;

  add(prepared: PreparedBlock): void {
    if (this.#blocks.has(prepared.hashHex)) return;
    const { transactions } = prepared.block;
    const bytes = transactions.reduce((sum, { data }) => sum + ROUGH_TRANSACTION_BYTES + data.length, 1_000);
    this.#blocks.set(prepared.hashHex, { prepared, bytes });
    this.#bytes += bytes;
    for (const [hash, oldest] of this.#blocks) {
      if (this.#blocks.size <= MAX_BLOCKS && this.#bytes <= MAX_BYTES) return;
      this.#blocks.delete(hash);
      this.#bytes -= oldest.bytes;
    }
  }

  header(hash: Uint8Array): HashedHeader | undefined {
    const prepared = this.#blocks.get(bytesToHex(hash))?.prepared;
    return prepared && { header: prepared.header, hash: prepared.hash, rlp: prepared.encodedHeader };
  }

  block(hash: Uint8Array): VerifiedBlock | undefined {
    const known = this.#blocks.get(bytesToHex(hash));
    if (known === undefined) return undefined;
    const { prepared, bytes } = known;
    return { block: prepared.block, transactionsRoot: prepared.transactionsRoot, sizeBytes: bytes };
  }

  clear(): void {
    this.#blocks.clear();
    this.#bytes = 0;
  }
}

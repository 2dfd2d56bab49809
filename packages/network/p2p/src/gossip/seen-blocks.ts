import { bytesToHex, type Hex, LruCache } from "@rnode/primitives";

const MAX_HEIGHTS = 1000;
/** An equivocating sequencer is passed on so often, and no further. */
const MAX_BLOCKS_OF_HEIGHT = 6;

/** Which blocks were accepted at a height. Spec: docs/protocol/03-p2p.md#validation-order-and-verdict */
export class SeenBlocks {
  private readonly heights = new LruCache<number, Set<Hex>>(MAX_HEIGHTS);

  /** Whether a block is new at its height; `full`: six others exist, so no more blocks of that height are validated. */
  check(number: number, hash: Uint8Array): "new" | "seen" | "full" {
    const hashes = this.heights.get(number);
    if (hashes === undefined) return "new";
    if (hashes.has(bytesToHex(hash))) return "seen";
    return hashes.size >= MAX_BLOCKS_OF_HEIGHT ? "full" : "new";
  }

  /** Of a block that `check` called new. */
  add(number: number, hash: Uint8Array): void {
    const hashes = this.heights.get(number) ?? new Set();
    hashes.add(bytesToHex(hash));
    this.heights.set(number, hashes);
  }
}

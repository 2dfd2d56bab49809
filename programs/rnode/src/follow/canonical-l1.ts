import { type Hex, LruCache } from "@rnode/primitives";
import type { BlockId, L1BlockRef } from "@rnode/protocol";

export type L1Verdict =
  /** the blocks as our own L1 describes them, in the order of the question */
  | { readonly kind: "canonical"; readonly blocks: readonly L1BlockRef[] }
  /** L1 has another block there */
  | { readonly kind: "replaced"; readonly block: BlockId; readonly got: Hex }
  /** L1 does not have a block there yet, as where the endpoint is behind */
  | { readonly kind: "missing"; readonly block: BlockId };

const REMEMBERED = 256;

/**
 * Whether L1 blocks are canonical on our own L1. PERF: a block that was canonical stays so while each new L1 head builds on the one before, and is not
 * asked for again; the heads themselves are known.
 */
export class CanonicalL1 {
  private readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  private known = new LruCache<number, L1BlockRef>(REMEMBERED);
  private head: L1BlockRef | undefined;
  private generation = 0;

  constructor(l1: CanonicalL1["l1"]) {
    this.l1 = l1;
  }

  /** L1 has a new head. @returns whether earlier blocks may have been replaced: it is not the child of the head before */
  onHead(head: L1BlockRef): boolean {
    const before = this.head;
    this.head = head;
    if (before?.hash === head.hash) return false;
    const atHead = this.known.get(head.number);
    const mayDiffer =
      before !== undefined && (head.parentHash !== before.hash || (atHead !== undefined && atHead.hash !== head.hash));
    if (mayDiffer) {
      this.generation++;
      this.known = new LruCache(REMEMBERED);
    }
    for (let above = head.number + 1; this.known.has(above); above++) this.known.delete(above);
    this.known.set(head.number, head);
    return mayDiffer;
  }

  /** @returns the first verdict that is not `canonical`. @throws what L1 rejects with */
  async check(blocks: readonly BlockId[]): Promise<L1Verdict> {
    const ours: L1BlockRef[] = [];
    for (const block of blocks) {
      const known = this.known.get(block.number);
      const { generation } = this;
      const got = known?.hash === block.hash ? known : await this.l1.blockByNumber(block.number);
      if (got === undefined) return { kind: "missing", block };
      if (got.hash !== block.hash) return { kind: "replaced", block, got: got.hash };
      if (generation === this.generation) this.known.set(block.number, got);
      ours.push(got);
    }
    return { kind: "canonical", blocks: ours };
  }
}

import type { DerivationObserver } from "@rnode/derivation";
import type { Hex } from "@rnode/primitives";
import type { BlockId, L1BlockRef, L2BlockRef } from "@rnode/protocol";
import type { SimL1 } from "./sim-l1.ts";
import type { SimNode } from "./sim-node.ts";

/** A rule that must hold whatever happens, and how it was broken. */
export interface Violation {
  readonly rule:
    | "agreement"
    | "safe-moved"
    | "finalized-moved"
    | "batcher-blamed"
    | "record"
    | "liveness"
    | "node-stopped"
    | "crash";
  readonly detail: string;
}

interface SafeBlock {
  readonly hash: Hex;
  /** the newest L1 block that the node had read when the block became safe */
  readonly derivedFrom: BlockId;
}

/** What is remembered of one node, across its restarts. */
interface Seen {
  /** by number */
  readonly safe: SafeBlock[];
  lastSafe: L2BlockRef | undefined;
  finalized: L2BlockRef | undefined;
  /** the L1 block that derivation is reading */
  reading: L1BlockRef | undefined;
  /** channels whose first frame the pipeline has seen since it last started over */
  begun: Set<Hex>;
  incarnation: number;
}

export interface InvariantsDeps {
  readonly l1: SimL1;
  /** whether the batcher's data must always be accepted */
  readonly isBatcherUndisturbed: boolean;
  /** whether a batcher that still runs made the channel */
  readonly isHonestChannel: (id: Hex) => boolean;
  readonly onViolation: (violation: Violation) => void;
}

const number = (block: L2BlockRef): string => `${block.number} (${block.hash.slice(0, 10)}…)`;

/** Watches all nodes: what they call safe and finalized, and what they do with the batcher's data. */
export class Invariants {
  readonly #deps: InvariantsDeps;
  readonly #seen = new Map<SimNode, Seen>();
  /** what nodes called safe, by number, as far as L1 still has what it was derived from */
  readonly #agreed: (SafeBlock & { readonly by: string })[] = [];
  /** how often a node's label went back, to be derived again from the same L1 data */
  labelsGoneBack = 0;

  constructor(deps: InvariantsDeps) {
    this.#deps = deps;
  }

  observer(node: SimNode): Partial<DerivationObserver> {
    const seen = this.#of(node);
    const blame = (detail: string): void => {
      if (this.#deps.isBatcherUndisturbed) this.#deps.onViolation({ rule: "batcher-blamed", detail: `${node.name}: ${detail}` });
    };
    return {
      onL1Block: (block) => {
        if (seen.reading === undefined || block.number <= seen.reading.number || seen.incarnation !== node.incarnation)
          seen.begun.clear();
        seen.incarnation = node.incarnation;
        seen.reading = block;
      },
      onFrame: ({ frame }) => {
        if (frame.number === 0) seen.begun.add(hexOf(frame.channelId));
      },
      onFrameDropped: ({ frame, reason, block }) => {
        const id = hexOf(frame.channelId);
        if (!this.#deps.isHonestChannel(id) || !seen.begun.has(id)) return;
        blame(`frame ${frame.number} of channel ${id.slice(0, 10)} in L1 block ${block.number} was dropped: ${reason}`);
      },
      onChannel: ({ channelId, event, block, detail }) => {
        if (event === "opened" || event === "ready" || event === "read") return;
        if (!this.#deps.isHonestChannel(channelId) || !seen.begun.has(channelId)) return;
        blame(`channel ${channelId.slice(0, 10)} in L1 block ${block.number}: ${event} ${detail ?? ""}`);
      },
      onBatch: ({ batch, verdict }) => {
        if (batch.type === "empty") blame(`the sequencing window ended without a batch at ${batch.timestamp}`);
        if (verdict.kind !== "drop" || batch.channelId === undefined) return;
        if (!this.#deps.isHonestChannel(batch.channelId) || !seen.begun.has(batch.channelId)) return;
        const safe = node.heads?.pendingSafe ?? seen.lastSafe;
        if (safe !== undefined && batch.timestamp <= safe.timestamp) return; // read again after a start
        blame(
          `a ${batch.type} batch at ${batch.timestamp} in L1 block ${batch.l1InclusionBlock.number} was dropped: ${verdict.reason}`,
        );
      },
    };
  }

  /** A block that the engine has upon what the node calls safe: it is recorded before the engine is told, so that a record is never behind. */
  #isBeingTold({ engine, heads }: SimNode, hash: Hex): boolean {
    if (heads === undefined) return false;
    let ref = engine.refByHash(hash);
    while (ref !== undefined && ref.number > heads.safe.number) ref = engine.refByHash(ref.parentHash);
    return ref?.hash === heads.safe.hash;
  }

  /** Called after whatever could have changed something. */
  check(nodes: readonly SimNode[]): void {
    for (const node of nodes) {
      const { heads } = node;
      if (heads === undefined) continue;
      const seen = this.#of(node);
      if (heads.safe.hash !== seen.lastSafe?.hash) this.#checkSafe(node, seen, heads.safe);
      if (heads.finalized.hash !== seen.finalized?.hash) this.#checkFinalized(node, seen, heads.finalized);
    }
  }

  /** What is recorded in safe-head databases must be what the nodes called safe, wherever L1 is still the same. */
  checkRecords(nodes: readonly SimNode[]): void {
    const { l1, onViolation } = this.#deps;
    for (const node of nodes) {
      for (const { ref } of l1.blocks) {
        const entry = node.safeHeads?.at(ref.number);
        if (entry === undefined || !l1.isCanonical(entry.l1Block)) continue;
        const { safeHead } = entry;
        if (node.engine.canonicalRef(safeHead.number)?.hash === safeHead.hash) continue;
        if (this.#isBeingTold(node, safeHead.hash)) continue;
        const detail = `${node.name}: after L1 block ${ref.number}, block ${safeHead.number} ${safeHead.hash.slice(0, 10)}… is recorded, which is not in the chain`;
        onViolation({ rule: "record", detail });
        return;
      }
    }
  }

  #of(node: SimNode): Seen {
    let seen = this.#seen.get(node);
    if (seen === undefined) {
      seen = { safe: [], lastSafe: undefined, finalized: undefined, reading: undefined, begun: new Set(), incarnation: 0 };
      this.#seen.set(node, seen);
    }
    return seen;
  }

  #checkSafe(node: SimNode, seen: Seen, safe: L2BlockRef): void {
    const { l1, onViolation } = this.#deps;
    const before = seen.lastSafe;
    seen.lastSafe = safe;
    if (before !== undefined && safe.number < before.number) {
      const was = seen.safe[before.number];
      if (was !== undefined && l1.isCanonical(was.derivedFrom)) {
        this.labelsGoneBack++;
        if (node.options.keepsSafeHeads) {
          const detail = `${node.name}: the safe head went back from ${number(before)} to ${number(safe)}, and L1 still has block ${was.derivedFrom.number}`;
          onViolation({ rule: "record", detail });
        }
      }
    }
    const derivedFrom: BlockId = seen.reading ?? l1.blocks[0]!.ref;
    for (let block: L2BlockRef | undefined = safe; block !== undefined; block = node.engine.refByHash(block.parentHash)) {
      const known = seen.safe[block.number];
      if (known?.hash === block.hash) break;
      if (known !== undefined && l1.isCanonical(known.derivedFrom)) {
        onViolation({
          rule: "safe-moved",
          detail: `${node.name}: block ${number(block)} is safe, ${known.hash.slice(0, 10)}… was, and L1 still has block ${known.derivedFrom.number}`,
        });
      }
      seen.safe[block.number] = { hash: block.hash, derivedFrom };
      if (l1.isCanonical(derivedFrom)) this.#checkAgreement(node, block, derivedFrom);
      if (block.number === 0) break;
    }
  }

  #checkAgreement(node: SimNode, block: L2BlockRef, derivedFrom: BlockId): void {
    const { l1, onViolation } = this.#deps;
    const agreed = this.#agreed[block.number];
    if (agreed !== undefined && agreed.hash !== block.hash && l1.isCanonical(agreed.derivedFrom)) {
      onViolation({
        rule: "agreement",
        detail: `${node.name} calls block ${number(block)} safe, ${agreed.by} calls ${agreed.hash.slice(0, 10)}… safe, from the same L1`,
      });
    }
    this.#agreed[block.number] = { hash: block.hash, derivedFrom, by: node.name };
  }

  #checkFinalized(node: SimNode, seen: Seen, finalized: L2BlockRef): void {
    const before = seen.finalized;
    seen.finalized = finalized;
    if (before === undefined) return;
    const isDescendant = finalized.number >= before.number && this.#hasAncestor(node, finalized, before);
    if (isDescendant) return;
    this.#deps.onViolation({ rule: "finalized-moved", detail: `${node.name}: from ${number(before)} to ${number(finalized)}` });
  }

  #hasAncestor(node: SimNode, from: L2BlockRef, wanted: L2BlockRef): boolean {
    for (let block: L2BlockRef | undefined = from; block !== undefined; block = node.engine.refByHash(block.parentHash)) {
      if (block.number === wanted.number) return block.hash === wanted.hash;
    }
    return false;
  }
}

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;

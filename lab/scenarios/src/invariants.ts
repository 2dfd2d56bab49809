import type { DerivationObserver } from "@rnode/derivation";
import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type BlockId,
  DEPOSIT_TRANSACTION_TYPE,
  decodeTransaction,
  isDepositTransaction,
  type L1BlockRef,
  type L2BlockRef,
} from "@rnode/protocol";
import type { L1Block, SimL1 } from "./sim-l1.ts";
import type { SimNode } from "./sim-node.ts";
import type { SyncPeers } from "./sync-peers.ts";

/** A rule that must hold whatever happens, and how it was broken. */
export interface Violation {
  readonly rule:
    | "agreement"
    | "safe-moved"
    | "finalized-moved"
    | "batcher-blamed"
    | "record"
    | "deposits"
    | "config"
    | "gas"
    | "honest-blamed"
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

/** The observations of one node, across its restarts. */
interface Seen {
  /** by number */
  readonly safe: SafeBlock[];
  lastSafe: L2BlockRef | undefined;
  finalized: L2BlockRef | undefined;
  /** all that it called finalized */
  readonly trusted: Set<L2BlockRef>;
  /** the L1 block that derivation is reading */
  reading: L1BlockRef | undefined;
  /** channels whose first frame the pipeline has seen since it last started over */
  begun: Set<Hex>;
  incarnation: number;
  /** the last incarnation that has reported safe blocks */
  saidSafe: number;
}

export interface InvariantsDeps {
  readonly l1: SimL1;
  /** data outside of L1 can turn out to be unavailable, which invalidates the blocks derived from it */
  readonly areSafeBlocksTakenBack: boolean;
  /** whether the batcher's data must always be accepted */
  readonly isBatcherUndisturbed: boolean;
  /** whether a batcher that still runs made the channel */
  readonly isHonestChannel: (id: Hex) => boolean;
  /** whether the sequencer has made the block */
  readonly isSequenced: (hash: Hex) => boolean;
  /** source hashes of the deposits of an L1 block, in order */
  readonly depositsOf: (block: L1Block) => readonly Hex[];
  /** the gas limit of L2 blocks, by the number of their L1 origin */
  readonly gasLimits: () => readonly bigint[];
  /** whether it is in the sequencer's chain, and its L1 origin in L1 */
  readonly isInChain: (block: L2BlockRef) => boolean;
  readonly onViolation: (violation: Violation) => void;
}

const number = (block: L2BlockRef): string => `${block.number} (${block.hash.slice(0, 10)}…)`;

/** Watches all nodes: their safe and finalized blocks, and their processing of the batcher's data. */
export class Invariants {
  readonly #deps: InvariantsDeps;
  readonly #seen = new Map<SimNode, Seen>();
  /** reported safe blocks, by number, while their L1 origins are canonical */
  readonly #agreed: (SafeBlock & { readonly by: string })[] = [];
  /** number of times that a node's label went back, to be derived again from the same L1 data */
  labelsGoneBack = 0;
  /** possible violations of verifiers that sync from peers, which are dropped if the sequencer misled them */
  readonly #suspicions: { readonly node: SimNode; readonly violation: Violation }[] = [];

  constructor(deps: InvariantsDeps) {
    this.#deps = deps;
  }

  observer(node: SimNode): Partial<DerivationObserver> {
    const seen = this.#of(node);
    const blame = (detail: string): void => {
      if (this.#deps.isBatcherUndisturbed) this.blame(node, { rule: "batcher-blamed", detail: `${node.name}: ${detail}` });
    };
    return {
      onL1Block: (block) => {
        if (seen.reading === undefined || block.number <= seen.reading.number || seen.incarnation !== node.incarnation)
          seen.begun.clear();
        seen.incarnation = node.incarnation;
        seen.reading = block;
      },
      onFrame: ({ frame }) => {
        if (frame.number === 0) seen.begun.add(bytesToHex(frame.channelId));
      },
      onFrameDropped: ({ frame, reason, block }) => {
        const id = bytesToHex(frame.channelId);
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

  /** A block of the engine above the node's safe head: it is recorded before the engine gets it, so a record is never behind. */
  #isBeingTold({ engine, heads }: SimNode, hash: Hex): boolean {
    if (heads === undefined) return false;
    let ref = engine.refByHash(hash);
    while (ref !== undefined && ref.number > heads.safe.number) ref = engine.refByHash(ref.parentHash);
    return ref?.hash === heads.safe.hash;
  }

  /** A node has broken a rule, unless it was misled. */
  blame(node: SimNode, violation: Violation): void {
    if (node.options.syncsAs === undefined) this.#deps.onViolation(violation);
    else this.#suspicions.push({ node, violation });
  }

  /**
   * Whether a node that syncs from peers trusted a block that was later replaced: it makes the sequencer's newest block final
   * when it has synced to it.
   */
  isMisled(node: SimNode): boolean {
    // The engine's labels count, because a node that stops at once has shown nothing.
    const { finalized } = node.engine;
    return node.options.syncsAs !== undefined && finalized !== undefined && !this.#deps.isInChain(finalized);
  }

  /** How many nodes have synced from peers, and how many of them were misled. */
  late(nodes: readonly SimNode[]): { readonly synced: number; readonly misled: number } {
    const synced = nodes.filter((node) => node.options.syncsAs !== undefined && (node.engine.finalized?.number ?? 0) > 0);
    return { synced: synced.length, misled: synced.filter((node) => this.isMisled(node)).length };
  }

  /** Called after whatever could have changed something. */
  check(nodes: readonly SimNode[]): void {
    for (const node of nodes) {
      const { heads } = node;
      if (heads === undefined) continue;
      const seen = this.#of(node);
      const isFirst = seen.saidSafe !== node.incarnation;
      if (isFirst || heads.safe.hash !== seen.lastSafe?.hash) this.#checkSafe(node, seen, heads.safe);
      if (heads.finalized.hash !== seen.finalized?.hash) this.#checkFinalized(node, seen, heads.finalized);
    }
  }

  /** The records of safe-head databases must equal the nodes' reported safe blocks, while L1 is the same. */
  checkRecords(nodes: readonly SimNode[]): void {
    const { l1 } = this.#deps;
    for (const node of nodes) {
      for (const { ref } of l1.blocks) {
        const entry = node.safeHeads?.at(ref.number);
        if (entry === undefined || !l1.isCanonical(entry.l1Block)) continue;
        const { safeHead } = entry;
        if (node.engine.canonicalRef(safeHead.number)?.hash === safeHead.hash) continue;
        if (this.#isBeingTold(node, safeHead.hash)) continue;
        const detail = `${node.name}: after L1 block ${ref.number}, block ${safeHead.number} ${safeHead.hash.slice(0, 10)}… is recorded, which is not in the chain`;
        this.blame(node, { rule: "record", detail });
        return;
      }
    }
  }

  /**
   * The expected L1 data of safe blocks: the first block of each epoch has the deposits of its L1 block, the others none, and
   * each has the last set gas limit.
   */
  checkEpochs(nodes: readonly SimNode[]): void {
    const gasLimits = this.#deps.gasLimits();
    for (const node of nodes) {
      if (this.isMisled(node)) continue;
      for (let at = 1; at <= (node.heads?.safe.number ?? 0); at++) {
        const block = node.engine.canonicalRef(at);
        const payload = node.engine.canonicalPayload(at)?.executionPayload;
        if (block === undefined || payload === undefined) continue; // before the snapshot that the engine began with
        const origin = this.#deps.l1.blocks[block.l1Origin.number];
        if (origin?.ref.hash !== block.l1Origin.hash) break; // L1 has just replaced it
        const wanted = block.sequenceNumber === 0 ? this.#deps.depositsOf(origin) : [];
        const gasLimit = gasLimits[origin.ref.number]!;
        if (payload.gasLimit !== gasLimit) {
          const detail = `${node.name}: block ${number(block)} has gas limit ${payload.gasLimit}, L1 block ${origin.ref.number} has ${gasLimit}`;
          this.#deps.onViolation({ rule: "config", detail });
          return;
        }
        const found = userDeposits(payload.transactions, wanted.length);
        if (found.join() === wanted.join()) continue;
        const detail = `${node.name}: block ${number(block)} has ${found.length} deposits (${found.join(", ")}), L1 block ${origin.ref.number} has ${wanted.length} (${wanted.join(", ")})`;
        this.#deps.onViolation({ rule: "deposits", detail });
        return;
      }
    }
  }

  /** In the end, all nodes have the same chain up to the lowest safe head. */
  checkSameChain(nodes: readonly SimNode[]): void {
    for (const detail of this.differences(nodes)) this.#deps.onViolation({ rule: "agreement", detail });
  }

  /** In which safe blocks nodes differ, where that is no violation at once: not all of them have read yet that a challenge has expired. */
  differences(nodes: readonly SimNode[]): readonly string[] {
    if (!this.#deps.areSafeBlocksTakenBack) return [];
    const [first, ...others] = nodes;
    const common = Math.min(...nodes.map(({ heads }) => heads?.safe.number ?? 0));
    return others.flatMap(({ name, engine }) => {
      for (let at = 0; at <= common; at++) {
        if (engine.canonicalRef(at)?.hash !== first!.engine.canonicalRef(at)?.hash)
          return [`${name} has another block ${at} than ${first!.name}`];
      }
      return [];
    });
  }

  /** Nodes that sync from peers must have the others' chain, and penalise no honest peer, unless they were misled. */
  checkLate(late: readonly { readonly node: SimNode; readonly peers: SyncPeers }[]): void {
    const { l1, isSequenced, onViolation } = this.#deps;
    for (const { node, peers } of late) {
      for (const [name, { reports }] of peers.honest) {
        const lie = reports.find(({ fault }) => fault === "lied");
        if (lie !== undefined) onViolation({ rule: "honest-blamed", detail: `${node.name}: ${name} ${lie.detail}` });
      }
      if (this.isMisled(node)) continue;
      const { safe, trusted } = this.#of(node);
      for (const block of trusted) {
        // The sequencer named the block to which it synced; other nodes derived the same blocks.
        if (block.number === 0 || isSequenced(block.hash) || this.#agreed[block.number]?.hash === block.hash) continue;
        onViolation({ rule: "agreement", detail: `${node.name} has finalized block ${number(block)}, which nobody has made` });
      }
      const other = safe.findIndex(({ hash, derivedFrom }, at) => {
        const agreed = this.#agreed[at];
        if (agreed === undefined || agreed.hash === hash) return false;
        return l1.isCanonical(agreed.derivedFrom) && l1.isCanonical(derivedFrom);
      });
      if (other >= 0) {
        const detail = `${node.name} calls another block ${other} safe than ${this.#agreed[other]!.by}, from the same L1`;
        onViolation({ rule: "agreement", detail });
      }
    }
    for (const { node, violation } of this.#suspicions) if (!this.isMisled(node)) onViolation(violation);
  }

  #of(node: SimNode): Seen {
    let seen = this.#seen.get(node);
    if (seen === undefined) {
      seen = {
        safe: [],
        lastSafe: undefined,
        finalized: undefined,
        trusted: new Set(),
        reading: undefined,
        begun: new Set(),
        incarnation: 0,
        saidSafe: -1,
      };
      this.#seen.set(node, seen);
    }
    return seen;
  }

  #checkSafe(node: SimNode, seen: Seen, safe: L2BlockRef): void {
    const { l1, areSafeBlocksTakenBack } = this.#deps;
    const before = seen.lastSafe;
    seen.lastSafe = safe;
    if (areSafeBlocksTakenBack) return; // compared at the end
    if (before !== undefined && safe.number < before.number) {
      const was = seen.safe[before.number];
      if (was !== undefined && l1.isCanonical(was.derivedFrom)) {
        this.labelsGoneBack++;
        // A node that did not derive for a while has no record of that time.
        if (node.options.keepsSafeHeads && node.options.follows === undefined) {
          const detail = `${node.name}: the safe head went back from ${number(before)} to ${number(safe)}, and L1 still has block ${was.derivedFrom.number}`;
          this.blame(node, { rule: "record", detail });
        }
      }
    }
    // The first report of a process after its start was derived by an earlier one, from an L1 block up to the newest.
    const isFirst = seen.saidSafe !== node.incarnation;
    seen.saidSafe = node.incarnation;
    const derivedFrom = isFirst ? l1.blocks.at(-1)!.ref : (readUpTo(node, seen) ?? l1.blocks.at(-1)!.ref);
    for (let block: L2BlockRef | undefined = safe; block !== undefined; block = node.engine.refByHash(block.parentHash)) {
      const known = seen.safe[block.number];
      if (known?.hash === block.hash) break;
      if (known !== undefined && l1.isCanonical(known.derivedFrom)) {
        this.blame(node, {
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
    const { l1 } = this.#deps;
    // A node that may have been misled is compared with the others at the end.
    if (node.options.syncsAs !== undefined) return;
    const agreed = this.#agreed[block.number];
    if (agreed !== undefined && agreed.hash !== block.hash && l1.isCanonical(agreed.derivedFrom)) {
      this.#deps.onViolation({
        rule: "agreement",
        detail: `${node.name} calls block ${number(block)} safe, ${agreed.by} calls ${agreed.hash.slice(0, 10)}… safe, from the same L1`,
      });
    }
    this.#agreed[block.number] = { hash: block.hash, derivedFrom, by: node.name };
  }

  #checkFinalized(node: SimNode, seen: Seen, finalized: L2BlockRef): void {
    const before = seen.finalized;
    seen.finalized = finalized;
    seen.trusted.add(finalized);
    if (before === undefined) return;
    const isDescendant = finalized.number >= before.number && this.#hasAncestor(node, finalized, before);
    if (isDescendant) return;
    this.blame(node, { rule: "finalized-moved", detail: `${node.name}: from ${number(before)} to ${number(finalized)}` });
  }

  #hasAncestor(node: SimNode, from: L2BlockRef, wanted: L2BlockRef): boolean {
    for (let block: L2BlockRef | undefined = from; block !== undefined; block = node.engine.refByHash(block.parentHash)) {
      if (block.number === wanted.number) return block.hash === wanted.hash;
    }
    return false;
  }
}

/** How far the node, or the one that it follows, has read L1. */
function readUpTo(node: SimNode, { reading }: Seen): BlockId | undefined {
  if (node.follows === undefined) return reading;
  const { number, hash } = node.syncStatus().current_l1 as BlockId;
  return number === 0 ? undefined : { number, hash };
}

/**
 * Source hashes of the deposits after the L1 attributes: the first `count`, and of later ones those that mint, because upgrade
 * transactions do not mint.
 */
function userDeposits(transactions: readonly Uint8Array[], count: number): readonly Hex[] {
  const [, ...deposits] = transactions.filter(isDepositTransaction).map(decodeTransaction);
  return deposits.flatMap((tx, i) => {
    if (tx.type !== DEPOSIT_TRANSACTION_TYPE || (i >= count && (tx.mint ?? 0n) === 0n)) return [];
    return [bytesToHex(tx.sourceHash)];
  });
}

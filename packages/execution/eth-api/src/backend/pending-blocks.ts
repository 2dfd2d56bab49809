import { LayeredState, type PendingBlock, StateLayers, stateLayerOf } from "@rnode/chain";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { hashTransaction } from "@rnode/protocol";
import { type BlockParts, partsOfBlock, type StateView } from "@rnode/storage";
import { madeOnce } from "./made-once.ts";

type Listener = (pending: PendingBlock | undefined) => void;

/** The block under construction, as its parts arrive. */
export class PendingBlocks {
  /** whether its transactions and receipts can be found by hash */
  readonly isFoundByHash: boolean;
  readonly #listeners = new Set<Listener>();
  #latest: PendingBlock | undefined;

  constructor(isFoundByHash = true) {
    this.isFoundByHash = isFoundByHash;
  }

  /** The latest part. Its block may be the head, or beside it, by now. */
  get latest(): PendingBlock | undefined {
    return this.#latest;
  }

  /** @param pending with one more part; undefined: the parts so far do not count */
  set(pending: PendingBlock | undefined): void {
    this.#latest = pending;
    for (const listener of this.#listeners) listener(pending);
  }

  onChange(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The block under construction on the head. */
  on(headHash: Hex): PendingBlock | undefined {
    const latest = this.#latest;
    return latest !== undefined && bytesToHex(latest.block.header.parentHash) === headHash ? latest : undefined;
  }
}

/** Computed once for each part, when the first request needs it, as the values below. */
export const partsOfPending: (pending: PendingBlock) => BlockParts = madeOnce(partsOfBlock);

/** The position of each transaction, by hash. */
export const indexesOfPending = madeOnce(
  ({ block }: PendingBlock): ReadonlyMap<Hex, number> =>
    new Map(block.transactions.map((transaction, index) => [bytesToHex(hashTransaction(transaction)), index])),
);

const layersOf = madeOnce(
  (pending: PendingBlock) => new StateLayers([stateLayerOf({ ...pending, storageRoots: new Map(), nodes: [] })]),
);

/** The state after the part. @param parent the state after the parent */
export const stateOfPending = (pending: PendingBlock, parent: StateView): StateView =>
  new LayeredState({ hash: bytesToHex(pending.hash), number: pending.block.header.number }, parent, layersOf(pending));

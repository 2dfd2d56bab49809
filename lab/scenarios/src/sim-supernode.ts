import type { Hex } from "@rnode/primitives";
import { isDepositTransaction, type L2BlockRef } from "@rnode/protocol";
import type { Heads, SyncStatusJson } from "@rnode/rnode";
import type { SimEngine } from "./sim-engine.ts";

/**
 * What a supernode adds to a node that derives: it calls a block safe only after the messages of all chains were verified, and replaces
 * a local-safe block with an invalid message by the block with the same deposits and nothing else.
 * Spec: docs/protocol/02-derivation.md#interop-derivation
 */
export class SimSupernode {
  readonly #engine: SimEngine;
  readonly #lagBlocks: number;
  #verified: L2BlockRef;
  /** all that were ever verified: a decision is never taken back */
  readonly #everVerified = new Set<Hex>();

  /** @param lagBlocks from the verified blocks to the local-safe head */
  constructor(engine: SimEngine, lagBlocks: number) {
    this.#engine = engine;
    this.#lagBlocks = lagBlocks;
    this.#verified = engine.canonicalRef(0)!;
    this.#everVerified.add(this.#verified.hash);
  }

  /** Its own labels, from those of the node that derives. */
  heads(heads: Heads): Heads {
    const safe = this.#safe(heads.safe);
    const isVerified = this.#everVerified.has(heads.finalized.hash);
    return { ...heads, safe, finalized: isVerified ? heads.finalized : lower(heads.finalized, this.#verified) };
  }

  status(status: SyncStatusJson, heads: Heads | undefined): SyncStatusJson {
    if (heads === undefined) return status;
    const { safe, finalized } = this.heads(heads);
    return { ...status, safe_l2: jsonOf(safe), finalized_l2: jsonOf(finalized) };
  }

  /** Decides that a message of a local-safe block is invalid. @returns `undefined` if there is no such block with a user's transaction */
  invalidate(localSafe: L2BlockRef, mayExecute: (timestampSec: number) => boolean): L2BlockRef | undefined {
    const engine = this.#engine;
    const first = this.#safe(localSafe).number + 1;
    for (let at = first; at <= localSafe.number; at++) {
      const { timestamp, transactions } = engine.canonicalPayload(at)!.executionPayload;
      if (this.#everVerified.has(engine.canonicalRef(at)!.hash)) continue;
      if (!mayExecute(timestamp) || transactions.every(isDepositTransaction)) continue;
      return engine.deny(at);
    }
    return undefined;
  }

  #safe(localSafe: L2BlockRef): L2BlockRef {
    const engine = this.#engine;
    const finalized = engine.finalized!;
    const newest = engine.canonicalRef(Math.max(finalized.number, localSafe.number - this.#lagBlocks)) ?? finalized;
    const isCanonical = engine.canonicalRef(this.#verified.number)?.hash === this.#verified.hash;
    if (!isCanonical || newest.number > this.#verified.number) this.#verified = newest;
    for (let at = this.#verified; !this.#everVerified.has(at.hash); at = engine.canonicalRef(at.number - 1)!)
      this.#everVerified.add(at.hash);
    return lower(this.#verified, localSafe);
  }
}

const lower = (one: L2BlockRef, other: L2BlockRef): L2BlockRef => (one.number <= other.number ? one : other);

const jsonOf = ({ l1Origin, ...block }: L2BlockRef): SyncStatusJson[string] => ({ ...block, l1origin: l1Origin });

import type { Chain, HeadChange, PendingBlock } from "@rnode/chain";
import type { PendingBlocks } from "@rnode/eth-api";
import type { Logger } from "@rnode/observe";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { hashTransaction, isSigned, type Transaction } from "@rnode/protocol";
import type { StreamMetrics } from "./stream-metrics.ts";

export interface PartPromisesDeps {
  readonly chain: Pick<Chain, "onHeadChange">;
  readonly pending: PendingBlocks;
  readonly log: Logger;
  readonly metrics: Pick<StreamMetrics, "broken">;
}

/**
 * The latest parts that were shown here as the pending block, whoever published them, also after their stream has broken: a build on their
 * parent begins with their transactions, and the block with their number is compared with them.
 */
export class PartPromises {
  /** transactions of broken promises */
  broken = 0;
  readonly #deps: PartPromisesDeps;
  #latest: PendingBlock | undefined;
  #compared: PendingBlock | undefined;

  /** Must come before anything that shows the parts of the next block when the head changes. */
  constructor(deps: PartPromisesDeps) {
    this.#deps = deps;
    deps.pending.onChange((part) => {
      this.#latest = part ?? this.#latest;
    });
    deps.chain.onHeadChange((change) => this.#compare(change));
  }

  on(parentHash: Uint8Array): PendingBlock | undefined {
    const latest = this.#latest;
    return latest !== undefined && equalBytes(latest.block.header.parentHash, parentHash) ? latest : undefined;
  }

  #compare(change: HeadChange): void {
    const shown = this.#latest;
    if (shown === undefined || shown === this.#compared) return;
    const { number } = shown.block.header;
    if (change.head.block.header.number < number) return;
    const added = change.added.find(({ block }) => block.header.number === number);
    if (added === undefined) return;
    this.#compared = shown;
    const { missing, moved } = differenceOf(shown.block.transactions, added.block.transactions);
    if (missing + moved === 0) return;
    this.broken += missing + moved;
    const { log, metrics } = this.#deps;
    metrics.broken.add(missing, { how: "missing" });
    metrics.broken.add(moved, { how: "moved" });
    const { payloadId, index } = shown;
    log.warn("a block broke the promise of its subblocks", { number, payloadId, parts: index + 1, missing, moved });
  }
}

/** The transactions of users that a block does not have, or has at another index than its parts said. */
function differenceOf(
  shown: readonly Transaction[],
  sealed: readonly Transaction[],
): { readonly missing: number; readonly moved: number } {
  const hashOf = (transaction: Transaction): string => bytesToHex(hashTransaction(transaction));
  const indexes = new Map(sealed.map((transaction, index) => [hashOf(transaction), index]));
  let missing = 0;
  let moved = 0;
  for (const [index, transaction] of shown.entries()) {
    if (!isSigned(transaction)) continue;
    const found = indexes.get(hashOf(transaction));
    if (found === undefined) missing++;
    else if (found !== index) moved++;
  }
  return { missing, moved };
}

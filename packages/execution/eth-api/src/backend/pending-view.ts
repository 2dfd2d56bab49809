import type { BlockSelector, PendingBlock } from "@rnode/chain";
import { bytesToHex, equalBytes } from "@rnode/primitives";
import { LATEST } from "../params/block-selector.ts";
import { pendingOnHead, type ReadBackend } from "./backend.ts";
import { type PendingBlocks, partsOfPending, stateOfPending } from "./pending-blocks.ts";

export const isPending = (selector: BlockSelector): boolean => selector.kind === "tag" && selector.tag === "pending";

/** For answers that need a sealed block: `pending` is the head there. */
export const sealed = (selector: BlockSelector): BlockSelector => (isPending(selector) ? LATEST : selector);

/**
 * The chain with the block under construction as `pending`, as long as its parent is the head. Parts, headers and states show it, and so does
 * its body by its hash. `resolve`, the body at `pending`, and trie nodes are those of sealed blocks.
 */
export function withPendingBlock(chain: ReadBackend["chain"], pending: PendingBlocks): ReadBackend["chain"] {
  const current = (): PendingBlock | undefined => pendingOnHead({ chain, pending });
  const selected = (selector: BlockSelector): PendingBlock | undefined => {
    if (isPending(selector)) return current();
    if (selector.kind !== "hash" || selector.requireCanonical || pending.latest === undefined) return undefined;
    return equalBytes(selector.hash, pending.latest.hash) ? current() : undefined;
  };
  return {
    config: chain.config,
    genesis: chain.genesis,
    head: () => chain.head(),
    resolve: (selector) => chain.resolve(selector),
    bodyOf: (selector) => (selector.kind === "hash" ? selected(selector) : undefined) ?? chain.bodyOf(selector),
    partsOf(selector) {
      const found = selected(selector);
      return found === undefined ? chain.partsOf(selector) : partsOfPending(found);
    },
    headerOf(selector) {
      const found = selected(selector);
      return found === undefined ? chain.headerOf(selector) : { header: found.block.header, hash: found.hash };
    },
    stateAt(block) {
      const found = pending.latest !== undefined && bytesToHex(pending.latest.hash) === block.hash ? current() : undefined;
      const parent = found && chain.stateAt(chain.head());
      return found === undefined || parent === undefined ? chain.stateAt(block) : stateOfPending(found, parent);
    },
    trieNodesAt: (block) => chain.trieNodesAt(block),
    onHeadChange: (listener) => chain.onHeadChange(listener),
  };
}

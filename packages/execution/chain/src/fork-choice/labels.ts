import { bytesToHex, isZeroBytes } from "@rnode/primitives";
import type { ChainStoreReader, Labels } from "@rnode/storage";
import type { ForkchoiceFault, ForkchoiceState } from "../api.ts";
import type { Branch } from "./branches.ts";
import { isCanonicalBlock } from "./canonical-blocks.ts";

/**
 * Checks that the safe and finalized blocks are on the chain of the new head, which is the last block of `branch`.
 *
 * @param numberOf undefined: the block is not known
 */
export function checkLabels(
  store: ChainStoreReader,
  state: ForkchoiceState,
  { forkPoint, blocks }: Branch,
  numberOf: (hash: Uint8Array) => number | undefined,
): { readonly kind: "labels"; readonly labels: Labels } | { readonly kind: "invalid-state"; readonly reason: ForkchoiceFault } {
  const headNumber = forkPoint.number + blocks.length;
  const labels: Labels = {};
  const wanted = [
    ["finalized", state.finalizedBlockHash],
    ["safe", state.safeBlockHash],
  ] as const;
  for (const [label, hash] of wanted) {
    if (isZeroBytes(hash)) {
      const current = store.label(label);
      // After a rewind or a reorganisation, no label may stay above the head or on the chain that was left.
      if (current !== undefined && current.number > forkPoint.number) labels[label] = forkPoint;
      continue;
    }
    const hashHex = bytesToHex(hash);
    const onBranch = blocks.find((executed) => executed.hashHex === hashHex);
    const number = onBranch?.block.header.number ?? numberOf(hash);
    if (number === undefined) return { kind: "invalid-state", reason: `${label}-not-available` };
    const isAncestor = onBranch !== undefined || (number <= forkPoint.number && isCanonicalBlock(store, hashHex, number));
    if (!isAncestor || number > headNumber) return { kind: "invalid-state", reason: `${label}-not-canonical` };
    labels[label] = { hash: hashHex, number };
  }
  return { kind: "labels", labels };
}

/** The labels that differ from those in the store. */
export function changedLabels(store: ChainStoreReader, labels: Labels): Labels {
  const changed: Labels = {};
  for (const label of ["safe", "finalized"] as const) {
    const wanted = labels[label];
    if (wanted !== undefined && wanted.hash !== store.label(label)?.hash) changed[label] = wanted;
  }
  return changed;
}

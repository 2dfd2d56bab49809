import type { MessageBlock } from "@rnode/interop";
import type { SetChain } from "./set-chain.ts";

/** A chain of the set with the labels of its node. */
export interface LabelledChain extends SetChain {
  /** `undefined` until the node has found its heads */
  readonly labels: ChainLabels | undefined;
}

export interface ChainLabels {
  readonly unsafe: MessageBlock;
  /** L1 alone makes it safe */
  readonly localSafe: MessageBlock;
  readonly finalized: MessageBlock;
}

import type { L1BlockHeader, L1Provider } from "@rnode/derivation";
import type { L1BlockLabel } from "@rnode/l1";
import type { L1BlockRef } from "@rnode/protocol";

/** The L1 labels as last reported by L1. */
export class L1View {
  private readonly labels = new Map<L1BlockLabel, L1BlockRef>();

  get head(): L1BlockRef | undefined {
    return this.labels.get("latest");
  }

  get safe(): L1BlockRef | undefined {
    return this.labels.get("safe");
  }

  get finalized(): L1BlockRef | undefined {
    return this.labels.get("finalized");
  }

  update(label: L1BlockLabel, block: L1BlockRef): void {
    this.labels.set(label, block);
  }
}

/**
 * L1 as derivation sees it: without the `confs` blocks nearest to the head. Look-ups by hash are not affected.
 * Spec: docs/protocol/05-services.md#node-options (verifier.l1-confs)
 */
export function withConfirmations(
  l1: L1Provider,
  { l1Confs: confs }: { readonly l1Confs: number },
  head: () => L1BlockRef | undefined,
): L1Provider {
  if (confs === 0) return l1;
  return {
    async blockByNumber(number: number): Promise<L1BlockHeader | undefined> {
      const headNumber = head()?.number ?? 0;
      if (headNumber !== 0 && number + confs > headNumber) return undefined;
      return l1.blockByNumber(number);
    },
    blockByHash: (hash) => l1.blockByHash(hash),
    receipts: (hash) => l1.receipts(hash),
    transactions: (hash) => l1.transactions(hash),
  };
}

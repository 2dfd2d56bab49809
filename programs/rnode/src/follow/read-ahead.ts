import type { L1Provider } from "@rnode/derivation";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import type { L1BlockRef } from "@rnode/protocol";

export interface ReadAheadDeps {
  readonly l1: Pick<L1Provider, "blockByHash" | "receipts">;
  readonly sequencer: { readonly isActive: boolean };
  readonly log: Pick<Logger, "debug">;
}

/**
 * Reads a new L1 head and its receipts, as derivation would have: an active sequencer soon needs the deposits in them, and then finds them in the cache
 * of the L1 client.
 */
export async function readAhead({ hash }: Pick<L1BlockRef, "hash">, { l1, sequencer, log }: ReadAheadDeps): Promise<void> {
  if (!sequencer.isActive) return;
  try {
    await l1.blockByHash(hash);
    await l1.receipts(hash);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    log.debug("cannot read an L1 block ahead", { reason: error.message });
  }
}

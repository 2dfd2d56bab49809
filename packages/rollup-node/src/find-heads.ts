import {
  type DerivationConfig,
  findSyncStart,
  type L1Provider,
  type SyncStartErrorCode,
  type SyncStartL2,
} from "@rnode/derivation";
import type { L2Blocks } from "@rnode/engine-client";
import type { Logger } from "@rnode/observe";
import { isCodedError } from "@rnode/primitives";
import type { FoundHeads } from "./driver.ts";
import { critical, temporary } from "./progress.ts";

export interface FindHeadsDeps {
  readonly l1: Pick<L1Provider, "blockByNumber">;
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockRefByHash">;
}

const CRITICAL: ReadonlySet<string> = new Set<SyncStartErrorCode>([
  "sync-start/wrong-chain",
  "sync-start/finalized-reorg",
  "sync-start/too-deep-reorg",
  "sync-start/inconsistent-chain",
]);

/** A walk over this many blocks is worth a line in the log. */
const BLOCKS_A_LINE = 500;

/** The heads in the engine that hold on L1 as it is now. */
export async function findHeads({ rollup }: DerivationConfig, { l1, l2 }: FindHeadsDeps, log: Logger): Promise<FoundHeads> {
  const labels: SyncStartL2 = {
    blockRefByLabel: async (label) => (await l2.blockByLabel(label === "unsafe" ? "latest" : label))?.ref,
    blockRefByHash: (hash) => l2.blockRefByHash(hash),
  };
  let walked = 0;
  try {
    const heads = await findSyncStart(rollup, l1, labels, {
      onProgress: (block) => {
        if (++walked % BLOCKS_A_LINE === 0) {
          log.info("walking back to blocks whose L1 origin still holds", {
            walked,
            at: block.number,
            l1Origin: block.l1Origin.number,
          });
        }
      },
    });
    return { kind: "found", ...heads };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return CRITICAL.has(error.code) ? critical(error.message) : temporary(error.message);
  }
}

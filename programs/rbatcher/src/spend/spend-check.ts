import { etherOf } from "@rnode/primitives";
import { costNow } from "@rnode/tx-manager";
import type { TxData } from "../channels/channel-manager.ts";
import type { L1Access } from "../l1/l1-access.ts";
import type { Obstacle } from "../l1/obstacle.ts";
import { candidateOf } from "../l1/tx-data-candidate.ts";
import type { SpendVerdict } from "./spend-limit.ts";

export interface CostDeps {
  readonly l1: Pick<L1Access, "feeMarket">;
  readonly minTipWei: bigint;
  readonly batchInboxAddress: Uint8Array;
  /** size of the commitment on L1 when a DA server stores the data; undefined: the data is on L1 */
  readonly commitmentBytes?: (() => number) | undefined;
}

/** Cost of a transaction at current prices, in wei. */
export async function costOf(tx: TxData, { l1, minTipWei, batchInboxAddress, commitmentBytes }: CostDeps): Promise<bigint> {
  const market = await l1.feeMarket({ withBlobs: tx.carrier === "blobs" });
  const onL1 = commitmentBytes === undefined ? tx : { ...tx, data: [new Uint8Array(commitmentBytes()).fill(0xff)] };
  return costNow(candidateOf(onL1, batchInboxAddress), market, market.tip > minTipWei ? market.tip : minTipWei);
}

export function spendObstacle(verdict: SpendVerdict, costWei: bigint): Obstacle | undefined {
  if (verdict.kind === "ok") return undefined;
  const { per, limitWei, spentWei, underWayWei, resumesAtMs } = verdict;
  return {
    reason: "spend-limit",
    text: `publishing has stopped: the next transaction would exceed --max-l1-spend-per-${per}. It goes on by itself when L1 is cheaper or older payments no longer count; give a higher limit to go on now`,
    fields: {
      limitEther: etherOf(limitWei),
      spentEther: etherOf(spentWei),
      underWayEther: etherOf(underWayWei),
      nextEther: etherOf(costWei),
      ...(resumesAtMs === undefined ? {} : { oldestEndsAt: new Date(resumesAtMs).toISOString() }),
    },
  };
}

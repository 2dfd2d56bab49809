import type { EngineClient, L2Blocks } from "@rnode/node-clients";
import type { L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";

export interface ResyncDeps {
  readonly config: Pick<RollupConfig, "genesis">;
  readonly l1: { blockByNumber(number: number): Promise<L1BlockRef | undefined> };
  readonly l2: Pick<L2Blocks, "blockByLabel" | "blockRefByNumber">;
  readonly engine: Pick<EngineClient, "forkchoiceUpdated">;
}

export type Resync =
  | { readonly kind: "done"; readonly head: L2BlockRef; readonly before: L2BlockRef }
  /** nothing was changed; `reason` says what to do instead */
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Moves all heads of the engine, including the finalized one, back to block `from`. The next start derives from there.
 *
 * @throws what the providers reject with
 */
export async function resync(from: number, { config, l1, l2, engine }: ResyncDeps): Promise<Resync> {
  const refused = (reason: string): Resync => ({ kind: "refused", reason });
  const genesis = config.genesis.l2;
  if (from < genesis.number) return refused(`the chain begins with block ${genesis.number}`);
  const before = (await l2.blockByLabel("latest"))?.ref;
  if (before === undefined) return refused("the execution client has no head");
  if (from > before.number) return refused(`the execution client is at block ${before.number}, before ${from}`);
  const head = await l2.blockRefByNumber(from);
  if (head === undefined) return refused(`the execution client does not have block ${from}`);
  if (from === genesis.number && head.hash !== genesis.hash)
    return refused(`the execution client has another genesis, ${head.hash}`);
  const origin = await l1.blockByNumber(head.l1Origin.number);
  if (origin?.hash !== head.l1Origin.hash) {
    return refused(`the L1 origin of block ${from} (${head.l1Origin.number}) is not a block of L1 either: give an earlier block`);
  }
  const outcome = await engine.forkchoiceUpdated({ head: head.hash, safe: head.hash, finalized: head.hash });
  if (outcome.kind === "syncing") return refused(`the execution client has no state at block ${from}`);
  if (outcome.kind !== "valid") return refused(`the execution client refuses to go back to block ${from}: ${outcome.reason}`);
  const after = (await l2.blockByLabel("latest"))?.ref;
  if (after?.hash === head.hash) return { kind: "done", head, before };
  return refused(
    `the execution client stays at block ${after?.number}: take it back by its own means (Geth: debug.setHead("0x${from.toString(16)}"); Reth: reth stage unwind to-block ${from})`,
  );
}

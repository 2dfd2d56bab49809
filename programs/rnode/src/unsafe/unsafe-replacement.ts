import type { Logger } from "@rnode/observe";
import type { ExecutionPayloadEnvelope, L2BlockRef } from "@rnode/protocol";
import type { EngineControl } from "../engine/engine-control.ts";
import type { Sequencer } from "../sequencing/sequencer.ts";

export interface UnsafeReplacementDeps {
  readonly control: EngineControl;
  readonly sequencer: Pick<Sequencer, "isActive">;
  readonly log: Logger;
}

/**
 * Makes a block the unsafe head and drops the unsafe blocks from its height on. A conductor has committed this block, whatever
 * else a holder of the sequencer's key has signed for that height. Only within `Driver.run`.
 *
 * @param ref of `envelope`, whose content its hash covers
 * @returns the reason of a failure; undefined: the block is the unsafe head
 */
export async function replaceUnsafeHead(
  envelope: ExecutionPayloadEnvelope,
  ref: L2BlockRef,
  { control, sequencer, log }: UnsafeReplacementDeps,
): Promise<string | undefined> {
  const heads = control.headsIfKnown;
  if (heads === undefined) return "the heads of the chain are not known yet: try again";
  if (sequencer.isActive) return "the sequencer is active: stop it first";
  const { unsafe } = heads;
  if (ref.hash === unsafe.hash) return undefined;
  const firm = Math.max(heads.safe.number, heads.pendingSafe.number);
  if (ref.number <= firm) return `block ${ref.number} is not above block ${firm}, which was derived from L1`;
  const inserted = await control.insert(envelope);
  if (inserted.kind !== "inserted") return `the engine does not take block ${ref.number} ${ref.hash}: ${inserted.reason}`;
  control.setHeads({ ...heads, unsafe: ref, backupUnsafe: undefined });
  const told = await control.sendForkchoice();
  if (told.kind !== "progress") {
    control.setHeads(heads);
    control.forgetSentForkchoice();
    return `block ${ref.number} ${ref.hash} does not become the engine's head: ${told.kind === "idle" ? "no answer" : told.reason}`;
  }
  if (ref.parentHash !== unsafe.hash) {
    const was = { was: unsafe.number, wasHash: unsafe.hash };
    log.warn("the unsafe head was replaced by request", { number: ref.number, hash: ref.hash, ...was });
  }
  return undefined;
}

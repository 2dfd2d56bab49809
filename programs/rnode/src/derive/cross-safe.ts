import type { L2Blocks } from "@rnode/node-clients";
import type { Logger } from "@rnode/observe";
import { CodedError, isCodedError } from "@rnode/primitives";
import type { BlockId, L2BlockRef } from "@rnode/protocol";
import type { CrossSafety } from "../common/cross-safety.ts";
import type { FoundHeads } from "../common/found-heads.ts";
import { IDLE, type Progress, reset, temporary, temporaryBy } from "../common/progress.ts";
import type { EngineControl } from "../engine/engine-control.ts";
import type { DriverPart, Start } from "../verification.ts";

type CrossSafeErrorCode = "cross-safe/lost-block";

type Blocks = Pick<L2Blocks, "blockRefByNumber">;

export interface CrossSafeDeps {
  readonly crossSafety: CrossSafety;
  readonly control: EngineControl;
  readonly l2: Blocks;
  readonly log: Logger;
}

/** Moves the safe label to what was verified, and starts over where a verdict concerns our chain. */
export function crossSafePart({ crossSafety, control, l2, log }: CrossSafeDeps): DriverPart {
  let lookedAt: number | undefined;
  const turn = async (): Promise<Progress> => {
    if (crossSafety.rederivedAfter() !== undefined) return reset("a verdict on a block was taken back");
    const { heads } = control;
    try {
      const { verdicts } = crossSafety;
      const denied = lookedAt === verdicts ? undefined : await deniedInChain(crossSafety, l2, heads.unsafe);
      if (denied !== undefined) return reset(`block ${denied} executes an invalid message`);
      lookedAt = verdicts;
      const verified = crossSafety.verified();
      if (verified === undefined || verified.number <= heads.safe.number || verified.number > heads.pendingSafe.number) return IDLE;
      const block = await l2.blockRefByNumber(verified.number);
      if (block?.hash !== verified.hash) return IDLE; // our chain moves
      control.setHeads({ ...control.heads, safe: block });
      log.debug("cross-safe head", { number: block.number, hash: block.hash });
      return control.sendForkchoice();
    } catch (error) {
      if (!isCodedError(error, "engine/")) throw error;
      return temporary(`cross-safe head: ${error.message}`);
    }
  };
  return { name: "cross-safety", turn };
}

/** The lowest block of our chain that was found invalid. @throws {CodedError} engine/* */
async function deniedInChain(crossSafety: CrossSafety, l2: Blocks, unsafe: L2BlockRef): Promise<number | undefined> {
  for (const { number, hash } of crossSafety.denied()) {
    if (number > unsafe.number) return undefined;
    if ((await l2.blockRefByNumber(number))?.hash === hash) return number;
  }
  return undefined;
}

/**
 * The newest block up to `block`, which is final by its own chain's data, that was verified by final data of all chains.
 *
 * @param l1Number of the finalized L1 block
 * @throws {CodedError} engine/*, l1/*
 */
export async function finalInSet(
  crossSafety: CrossSafety,
  block: L2BlockRef,
  l1Number: number,
  { l1, l2 }: { readonly l1: { blockByNumber(number: number): Promise<BlockId | undefined> }; readonly l2: Blocks },
): Promise<L2BlockRef | undefined> {
  if (!crossSafety.decidesAt(block.timestamp)) return block;
  const verified = crossSafety.verifiedBy(l1Number);
  if (verified === undefined) return undefined;
  // After a reorganisation, the set may not have taken back yet what rests on replaced data of another chain.
  if ((await l1.blockByNumber(verified.l1.number))?.hash !== verified.l1.hash) return undefined;
  const ref = await l2.blockRefByNumber(Math.min(verified.block.number, block.number));
  return ref?.number === verified.block.number && ref.hash !== verified.block.hash ? undefined : ref;
}

/** Starts below what was found invalid, with a safe block that was verified. */
export async function startInSet(crossSafety: CrossSafety, start: Start, { l2 }: { readonly l2: Blocks }): Promise<FoundHeads> {
  try {
    const denied = await deniedInChain(crossSafety, l2, start.unsafe);
    const rederived = crossSafety.rederivedAfter();
    const limit = Math.min(denied === undefined ? Number.POSITIVE_INFINITY : denied - 1, rederived ?? Number.POSITIVE_INFINITY);
    const atMost = async (block: L2BlockRef, number: number): Promise<L2BlockRef> =>
      block.number <= number ? block : required(await l2.blockRefByNumber(number), number);
    const verified = crossSafety.decidesAt(start.safe.timestamp)
      ? (crossSafety.verified()?.number ?? start.finalized.number)
      : undefined;
    const safe = await atMost(start.safe, Math.min(limit, Math.max(verified ?? Number.POSITIVE_INFINITY, start.finalized.number)));
    const base = await atMost(start.base, limit);
    return {
      ...start,
      unsafe: await atMost(start.unsafe, limit),
      // what is made above it in place of the others was never safe
      highestFormerSafe: await atMost(start.highestFormerSafe, limit),
      safe,
      base,
      ...(base.number < start.base.number ? { derivedFrom: undefined } : {}),
    };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return temporaryBy(error);
  }
}

function required(block: L2BlockRef | undefined, number: number): L2BlockRef {
  if (block !== undefined) return block;
  throw new CodedError<CrossSafeErrorCode>("cross-safe/lost-block", { number }, { sentence: "the engine has lost block {number}" });
}

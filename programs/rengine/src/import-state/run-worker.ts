import { type ComputedRoots, PackedWrites, SortedStateRun, sharedState } from "@rnode/chain";
import { UserError } from "@rnode/program";
import { openRethData } from "@rnode/reth-data";
import { serveWorker, startData } from "@rnode/threads/serve";
import { describing } from "./describing.ts";
import type { RunPart, RunQuestion, RunStart } from "./threaded-run.ts";

// The thread of `ThreadedRun`: reads a sorted state, computes the nodes of its tries, and returns both in parts.

const PART_BYTES = 1 << 20;

const { source, id, account } = startData<RunStart>();
const writes = new PackedWrites(PART_BYTES);
let roots: ComputedRoots | undefined;
let begun: { readonly run: SortedStateRun; readonly steps: Iterator<void> } | undefined;

function begin(progress: Uint8Array | undefined): NonNullable<typeof begun> {
  const state = source.kind === "reth" ? openRethData(source.folder) : sharedState(source);
  const check = (found: ComputedRoots): void => void (roots = found);
  const run = new SortedStateRun(state, { id, account, check });
  return { run, steps: run.steps(writes, progress)[Symbol.iterator]() };
}

function next({ progress }: RunQuestion): RunPart {
  const { run, steps } = (begun ??= begin(progress));
  let isDone = roots !== undefined;
  while (!isDone && writes.sizeBytes < PART_BYTES) isDone = steps.next().done === true;
  return { kind: "rows", packed: writes.take(), counts: run.counts, progress: isDone ? undefined : run.progress(), roots };
}

serveWorker<RunQuestion, RunPart>((question) => {
  try {
    const answer = describing(() => next(question));
    return { answer, transfer: answer.kind === "rows" ? [answer.packed.buffer as ArrayBuffer] : [] };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { answer: { kind: "fault", reason: error.message }, transfer: [] };
  }
});

import type { ChainState, SetState, StatusState, SyncState } from "../messages.ts";
import { bytes, count, duration } from "./format.ts";
import { Nothing, Panel } from "./parts.tsx";
import { type Condition, conditionOf, type ProgramView, processOf, stateOf } from "./store.ts";

const WORDS: Readonly<Record<Condition, string>> = {
  ready: "ready",
  "not-ready": "not ready",
  down: "down",
  waiting: "connecting",
};
/** Said by their forms too, not only by their colours. */
const SIGNS: Readonly<Record<Condition, string>> = { ready: "✓", "not-ready": "!", down: "✕", waiting: "…" };
/** Everything waits for a loop that is this late. */
const LATE_MS = 250;

/** How each program is. */
export function Health({ programs }: { readonly programs: readonly ProgramView[] }) {
  return (
    <Panel title="Health" isWide>
      {programs.length === 0 && <Nothing>No program has been heard from yet.</Nothing>}
      <ul class="programs">
        {programs.map((program) => (
          <ProgramCard key={program.id} program={program} />
        ))}
      </ul>
    </Panel>
  );
}

function ProgramCard({ program }: { readonly program: ProgramView }) {
  const { condition, reasons } = conditionOf(program);
  const work = condition === "down" ? undefined : processOf(program);
  return (
    <li class={`program ${condition}`}>
      <h3>{program.name}</h3>
      <p class="condition">
        <span class="sign" aria-hidden="true">
          {SIGNS[condition]}
        </span>
        {WORDS[condition]}
      </p>
      {reasons.map((reason) => (
        <p key={reason} class="reason">
          {reason}
        </p>
      ))}
      {condition !== "down" && <p class="key">{keyFigure(program)}</p>}
      {work !== undefined && (
        <p class="facts">
          up {duration(work.upSeconds)} · {bytes(work.memoryBytes)}
          {work.loopLagMs >= LATE_MS && <em> · loop late by {work.loopLagMs} ms</em>}
        </p>
      )}
    </li>
  );
}

/** What one wants to know of a program at first sight. */
function keyFigure(program: ProgramView): string {
  const sync = stateOf<SyncState>(program, "sync");
  if (sync !== undefined)
    return sync.unsafe === undefined
      ? "finding the heads"
      : `unsafe ${count(sync.unsafe.number)} · safe ${count(sync.safe?.number)}`;
  const set = stateOf<SetState>(program, "set");
  if (set !== undefined) return set.chains.map(({ chain, crossSafe }) => `${chain} cross-safe ${count(crossSafe)}`).join(" · ");
  const chain = stateOf<ChainState>(program, "chain");
  if (chain !== undefined) return `head ${count(chain.head?.number)}`;
  const status = stateOf<StatusState>(program, "status");
  if (status !== undefined) {
    const [first] = Object.entries(status).filter(([name, value]) => typeof value === "number" && name !== "l1Head");
    if (first !== undefined)
      return `${first[0].replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${count(Number(first[1]))}`;
  }
  return "";
}

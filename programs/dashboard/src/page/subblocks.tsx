import type { SubblocksState } from "../messages.ts";
import { count, counted } from "./format.ts";
import { Figure, Panel } from "./parts.tsx";
import { type ProgramView, stateOf } from "./store.ts";

/** The block under construction, and the streams of its parts. */
export function Subblocks({ program }: { readonly program: ProgramView }) {
  const state = stateOf<SubblocksState>(program, "subblocks");
  if (state === undefined) return null;
  const { publishes, sources, readers, latest, broken } = state;
  const lost = sources.filter(({ isUp }) => !isUp);
  const note = [
    ...(publishes ? ["publishes"] : []),
    ...(sources.length > 0 ? [`follows ${counted(sources.length, "stream")}`] : []),
  ];
  return (
    <Panel title="Subblocks" note={`This node ${note.join(" and ")}.`}>
      {lost.length > 0 && (
        <p class="stale" role="alert">
          <strong>Not connected:</strong> {lost.map(({ url }) => url).join(", ")}
        </p>
      )}
      <dl class="figures">
        <Figure
          label="Block"
          value={count(latest?.number)}
          detail={latest && (latest.isBuiltHere ? "built here" : `${counted(latest.transactions, "transaction")}`)}
          colour="--unsafe"
        />
        <Figure label="Parts" value={count(latest?.parts)} detail={latest && `the latest ${latest.ageMs} ms ago`} />
        <Figure label="Readers" value={count(readers)} />
        <Figure label="Broken promises" value={count(broken)} />
      </dl>
    </Panel>
  );
}

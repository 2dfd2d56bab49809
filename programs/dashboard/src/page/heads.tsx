import type { HeadRef, HeadsSample, SyncState } from "../messages.ts";
import { Chart, type Series } from "./chart.tsx";
import { count, counted, duration } from "./format.ts";
import { Figure, Nothing, Panel } from "./parts.tsx";
import { entriesOf, type ProgramView, stateOf } from "./store.ts";

const seconds = (value: number): string => duration(value);
const SERIES: readonly Series[] = [
  { label: "unsafe", colour: "--unsafe", value: seconds, isSpread: true },
  { label: "safe", colour: "--safe", value: seconds, isSpread: true },
  { label: "finalized", colour: "--finalized", value: seconds, isSpread: true },
];

/** Where the heads of both chains are, and how far they have been behind the clock. */
export function Heads({ program, theme }: { readonly program: ProgramView; readonly theme: string }) {
  const sync = stateOf<SyncState>(program, "sync");
  const samples = entriesOf<HeadsSample>(program, "heads");
  const age = (head: HeadRef | undefined): string | undefined =>
    head === undefined ? undefined : `${duration(program.atMs / 1000 - head.timeSec)} old`;
  const behind = (head: HeadRef | undefined, front: HeadRef | undefined): string | undefined =>
    head === undefined || front === undefined ? undefined : `${counted(front.number - head.number, "block")} behind`;
  const latest = samples.at(-1)?.[1];
  return (
    <Panel title="Heads" note={sync?.findingHeadsBecause ?? sequencing(sync)}>
      {sync === undefined ? (
        <Nothing>The heads are not known yet.</Nothing>
      ) : (
        <dl class="figures">
          <Figure label="L1 head" value={count(sync.l1Head?.number)} detail={age(sync.l1Head)} colour="--l1" />
          <Figure
            label="L1 derived"
            value={count(sync.derivedTo?.number)}
            detail={behind(sync.derivedTo, sync.l1Head)}
            colour="--l1"
          />
          <Figure label="Unsafe" value={count(sync.unsafe?.number)} detail={age(sync.unsafe)} colour="--unsafe" />
          <Figure label="Safe" value={count(sync.safe?.number)} detail={behind(sync.safe, sync.unsafe)} colour="--safe" />
          <Figure
            label="Finalized"
            value={count(sync.finalized?.number)}
            detail={behind(sync.finalized, sync.unsafe)}
            colour="--finalized"
          />
        </dl>
      )}
      <h3 class="sub">Lag: how old each head is</h3>
      {samples.length < 2 || latest === undefined ? (
        <Nothing>Lines appear with the next samples.</Nothing>
      ) : (
        <Chart
          summary={`Age of the heads over time. Now: unsafe ${seconds(latest.unsafeAgeSec)}, safe ${seconds(latest.safeAgeSec)}, finalized ${seconds(latest.finalizedAgeSec)}.`}
          data={[
            samples.map(([atMs]) => atMs / 1000),
            samples.map(([, sample]) => sample.unsafeAgeSec),
            samples.map(([, sample]) => sample.safeAgeSec),
            samples.map(([, sample]) => sample.finalizedAgeSec),
          ]}
          series={SERIES}
          x="time"
          height={230}
          theme={theme}
        />
      )}
    </Panel>
  );
}

function sequencing(sync: SyncState | undefined): string | undefined {
  if (sync === undefined) return undefined;
  const words = { active: "sequencer, active", stopped: "sequencer, stopped", none: "verifier" }[sync.sequencer];
  return sync.queuedBlocks === 0 ? words : `${words} · ${counted(sync.queuedBlocks, "block")} queued`;
}

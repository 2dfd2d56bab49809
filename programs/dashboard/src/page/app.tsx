import { useEffect, useState } from "preact/hooks";
import type { ChainState, ProgramKind } from "../messages.ts";
import { Blocks, LatestBlocks, Pool } from "./blocks.tsx";
import { timeOf } from "./format.ts";
import { Heads } from "./heads.tsx";
import { Health } from "./health.tsx";
import { L1Transactions } from "./l1-transactions.tsx";
import { Peers } from "./peers.tsx";
import { Drops, Pipeline } from "./pipeline.tsx";
import { Sequencers } from "./sequencers.tsx";
import { SetOfChains } from "./set.tsx";
import { conditionOf, type ProgramView, roleOf, rolesOf, type Store, stateOf } from "./store.ts";
import { Subblocks } from "./subblocks.tsx";
import { type Theme, useTheme } from "./theme.ts";

/** Programs that send to L1, and what that is. */
const SENDERS: Partial<Record<ProgramKind, string>> = { rbatcher: "Batches", rproposer: "Proposals" };

export interface AppProps {
  readonly store: Store;
  /** @returns ends it */
  readonly listen: (onChange: () => void) => () => void;
}

export function App({ store, listen }: AppProps) {
  const [, setDraws] = useState(0);
  useEffect(() => listen(() => setDraws((draws) => draws + 1)), []);
  const { theme, next, seen } = useTheme();
  const [chosen, choose] = useState<string>();

  const programs = [...store.programs.values()];
  const roles = rolesOf(programs);
  const role = chosen !== undefined && roles.includes(chosen) ? chosen : (roles[0] ?? "");
  const of = (kind: ProgramView["kind"]): ProgramView | undefined =>
    programs.find((program) => program.kind === kind && roleOf(program) === role);
  const [node, engine] = [of("rnode"), of("rengine")];
  return (
    <>
      <Top programs={programs} engine={engine} store={store} theme={theme} nextTheme={next} />
      <main>
        <Health programs={programs} />
        <Sequencers conductors={programs.filter(({ kind }) => kind === "rconductor")} />
        {programs.map((program) => program.kind === "rnode-set" && <SetOfChains key={program.id} program={program} />)}
        {roles.length > 1 && <Roles roles={roles} role={role} choose={choose} />}
        {[node, engine].map((program) => program !== undefined && <Stale key={program.id} program={program} />)}
        <div class="column main">
          {node !== undefined && <Heads key={node.id} program={node} theme={seen} />}
          {node !== undefined && <Pipeline program={node} />}
          {engine !== undefined && <Blocks key={engine.id} program={engine} theme={seen} />}
        </div>
        <div class="column side">
          {node !== undefined && <Drops program={node} />}
          {node !== undefined && <Peers program={node} />}
          {engine !== undefined && <Subblocks program={engine} />}
          {engine !== undefined && <LatestBlocks program={engine} />}
          {engine !== undefined && <Pool key={engine.id} program={engine} theme={seen} />}
        </div>
        {programs
          .filter(({ kind, state, kinds }) => SENDERS[kind] !== undefined && (state.size > 0 || kinds.size > 0))
          .map((program) => (
            <L1Transactions key={program.id} program={program} title={SENDERS[program.kind]!} />
          ))}
      </main>
    </>
  );
}

interface TopProps {
  readonly programs: readonly ProgramView[];
  /** of the role that is seen */
  readonly engine: ProgramView | undefined;
  readonly store: Store;
  readonly theme: Theme;
  readonly nextTheme: () => void;
}

function Top({ programs, engine, store, theme, nextTheme }: TopProps) {
  const only = programs.length === 1 ? programs[0] : undefined;
  const unwell = programs.filter((program) => ["down", "not-ready"].includes(conditionOf(program).condition));
  const summary =
    store.isConnected === false
      ? "The connection is lost; trying again."
      : programs.length === 0
        ? "Connecting…"
        : unwell.length === 0
          ? "All is well."
          : `${unwell.map(({ name }) => name).join(", ")}: see below.`;
  return (
    <header class="top">
      <img src="./icon.svg" alt="" width="28" height="28" />
      <h1>{only?.name ?? "rnode devnet"}</h1>
      {only?.version !== undefined && <span class="muted">{only.version}</span>}
      <p class={`summary ${store.isConnected === false || unwell.length > 0 ? "bad" : ""}`} role="status">
        {summary}
      </p>
      <a
        href={verifierLink(engine)}
        target="_blank"
        rel="noreferrer"
        title="Executes a block in a tab of its own, and compares its hash"
      >
        Verifier
      </a>
      <button type="button" onClick={nextTheme} aria-label={`Colours: ${theme}. Change`}>
        {theme === "auto" ? "◐ auto" : theme === "light" ? "○ light" : "● dark"}
      </button>
    </header>
  );
}

/** Link to the verifier's page, with the URL of the node that serves witnesses. */
function verifierLink(engine: ProgramView | undefined): string {
  const url = stateOf<ChainState>(engine, "chain")?.witnessUrl;
  return url === undefined ? "./verifier/" : `./verifier/?node=${encodeURIComponent(url)}`;
}

/** Radio buttons, so that the arrow keys choose. */
function Roles({
  roles,
  role,
  choose,
}: {
  readonly roles: readonly string[];
  readonly role: string;
  readonly choose: (role: string) => void;
}) {
  return (
    <fieldset class="roles">
      <legend>Seen from</legend>
      {roles.map((name) => (
        <label key={name}>
          <input type="radio" name="role" value={name} checked={name === role} onChange={() => choose(name)} />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** Says that what follows is not of now. */
function Stale({ program }: { readonly program: ProgramView }) {
  const { condition, reasons } = conditionOf(program);
  if (condition !== "down") return null;
  const since = program.atMs === 0 ? "" : ` What is shown of it was so at ${timeOf(program.atMs)}.`;
  return (
    <p class="stale" role="alert">
      <strong>{program.name} is down:</strong> {reasons.join("; ")}.{since}
    </p>
  );
}

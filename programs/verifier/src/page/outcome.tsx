import type { CheckResult } from "../check/run-check.ts";
import type { Step } from "../check/steps.ts";

export function Outcome({
  result,
  fault,
  isRunning,
}: {
  readonly result: CheckResult | undefined;
  readonly fault: string | undefined;
  readonly isRunning: boolean;
}) {
  if (fault !== undefined) return <Banner state="bad" title="This cannot be checked" text={fault} />;
  if (result === undefined) {
    return (
      <Banner
        state="idle"
        title={isRunning ? "Checking…" : "Nothing is checked yet"}
        text={isRunning ? "" : "Load or paste a block with its witness, L1 data, or both."}
      />
    );
  }
  const block = result.number === undefined ? "The L1 data" : `Block ${result.number.toLocaleString("en")}`;
  if (!result.isGood) return <Banner state="bad" title={`${block} does not fit`} text={result.hash ?? ""} />;
  if (result.hash === undefined) return <Banner state="good" title="The L1 data are decoded" text="" />;
  const isCompared = result.expectedHash !== undefined;
  return (
    <Banner
      state="good"
      title={isCompared ? `${block} has the expected hash` : `${block} is valid on top of its parent`}
      text={result.hash}
    />
  );
}

const SIGNS = { good: "✓", bad: "✗", idle: "·", open: "?" } as const;
const STATES = { good: "fits", bad: "does not fit", open: "open" } as const;

function Banner({
  state,
  title,
  text,
}: {
  readonly state: "good" | "bad" | "idle";
  readonly title: string;
  readonly text: string;
}) {
  return (
    <div class={`banner ${state}`} role={state === "bad" ? "alert" : "status"}>
      <span class="sign" aria-hidden="true">
        {SIGNS[state]}
      </span>
      <div>
        <strong>{title}</strong>
        {text !== "" && <p class="mono">{text}</p>}
      </div>
    </div>
  );
}

export function Steps({ steps }: { readonly steps: readonly Step[] }) {
  return (
    <ol class="steps">
      {steps.map(({ stage, title, state, facts, ms }, index) => (
        <li key={index} class={state}>
          <div class="title">
            <span class="sign" role="img" aria-label={STATES[state]}>
              {SIGNS[state]}
            </span>
            <span class="stage">{stage}</span>
            <strong>{title}</strong>
            {ms !== undefined && <span class="time">{ms.toFixed(ms < 10 ? 1 : 0)} ms</span>}
          </div>
          <ul>
            {facts.map((fact, at) => (
              <li key={at}>{fact}</li>
            ))}
          </ul>
        </li>
      ))}
    </ol>
  );
}

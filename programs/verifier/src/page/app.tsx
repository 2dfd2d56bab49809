import { useRef, useState } from "preact/hooks";
import type { CheckRequest, CheckResult } from "../check/run-check.ts";
import type { Step } from "../check/steps.ts";
import { BlockInput, DataInput, OriginInput } from "./inputs.tsx";
import type { WorkerMessage } from "./messages.ts";
import { Outcome, Steps } from "./outcome.tsx";

const EMPTY: CheckRequest = { witness: "", data: "", origin: "", rollup: "", expectedHash: "", l1Time: "" };

/** The state of the last check. */
interface Run {
  readonly steps: readonly Step[];
  readonly result: CheckResult | undefined;
  readonly fault: string | undefined;
  readonly isRunning: boolean;
}

const NO_RUN: Run = { steps: [], result: undefined, fault: undefined, isRunning: false };

function after(run: Run, message: Exclude<WorkerMessage, { kind: "ready" }>): Run {
  if (message.kind === "step") return { ...run, steps: [...run.steps, message.step] };
  if (message.kind === "result") return { ...run, result: message.result, isRunning: false };
  return { ...run, fault: message.text, isRunning: false };
}

export function App() {
  const [request, setRequest] = useState(EMPTY);
  const [run, setRun] = useState(NO_RUN);
  const worker = useRef<Worker>(undefined);

  const change = (part: Partial<CheckRequest>): void => {
    setRequest((before) => ({ ...before, ...part }));
    setRun((before) => ({ ...before, fault: undefined })); // the fault was about earlier input
  };
  const fail = (text: string): void => setRun({ ...NO_RUN, fault: text });

  const start = (): void => {
    worker.current?.terminate(); // ends a check that still runs
    const thread = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
    worker.current = thread;
    setRun({ ...NO_RUN, isRunning: true });
    thread.onmessage = ({ data }: MessageEvent<WorkerMessage>) => {
      if (data.kind === "ready") thread.postMessage(request);
      else setRun((before) => after(before, data));
    };
    thread.onerror = (event) =>
      setRun((before) => ({ ...before, fault: event.message || "the engine cannot be started", isRunning: false }));
  };

  const isEmpty = [request.witness, request.data, request.origin].every((text) => text.trim() === "");
  return (
    <>
      <header>
        <h1>Verifier</h1>
        <p>
          Executes a block of an OP Stack chain in this tab, with the engine, the trie and the derivation of the node, and compares
          its hash. Nobody is trusted: what is loaded is checked against hashes.
        </p>
      </header>
      <main>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            start();
          }}
        >
          <BlockInput request={request} change={change} fail={fail} />
          <OriginInput request={request} change={change} fail={fail} />
          <DataInput request={request} change={change} fail={fail} />
          <div class="actions">
            <button type="submit" class="primary" disabled={isEmpty || run.isRunning}>
              {run.isRunning ? "Checking…" : "Verify"}
            </button>
            <button
              type="button"
              onClick={() => {
                worker.current?.terminate();
                setRequest(EMPTY);
                setRun(NO_RUN);
              }}
            >
              Clear
            </button>
          </div>
        </form>
        <section aria-label="Result" aria-live="polite">
          <Outcome result={run.result} fault={run.fault} isRunning={run.isRunning} />
          <Steps steps={run.steps} />
        </section>
      </main>
    </>
  );
}

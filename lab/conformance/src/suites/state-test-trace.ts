import { newEngine } from "@rnode/chain";
import { readJsonFile, resultOf } from "../vectors.ts";
import type { StateTest } from "./state-test-case.ts";
import { stateTestCase } from "./state-test-case.ts";
import { runStateTestCase } from "./state-test-run.ts";
import { StepTrace } from "./step-trace.ts";
import { evmForkOfEra } from "./suite-forks.ts";

/** Identifies a case. */
export interface StateTestLocation {
  readonly file: string;
  readonly testName: string;
  /** the tests' name for the fork */
  readonly forkName: string;
  /** index in the fork's `post` */
  readonly index: number;
}

/**
 * Runs a case again with a trace: first a description of the case, then EIP-3155 lines of all its steps, then its outcome.
 *
 * @returns JSON objects, one per line
 */
export function traceStateTestCase(location: StateTestLocation): string[] {
  const { file, testName, forkName, index } = location;
  const test = (readJsonFile(file) as Record<string, StateTest>)[testName];
  const fork = evmForkOfEra(forkName);
  if (test === undefined || fork === undefined) throw new Error(`${file} has no test ${testName} of ${forkName}`);
  const trace = new StepTrace();
  const engine = newEngine();
  engine.setTracer(trace.tracer);
  const { failure } = resultOf(testName, (note) => runStateTestCase(engine, stateTestCase(test, forkName, fork, index), note));
  const end = {
    test: testName,
    fork: forkName,
    index,
    pass: failure === undefined,
    ...(failure !== undefined && { error: failure }),
  };
  return [JSON.stringify({ file, test: testName, fork: forkName, index }), ...trace.lines(), JSON.stringify(end)];
}

import { newEngine } from "@rnode/chain";
import type { StateTest } from "./state-test-case.ts";
import { stateTestCase } from "./state-test-case.ts";
import { runStateTestCase } from "./state-test-run.ts";
import { StepTrace } from "./step-trace.ts";
import { evmForkOfSuite } from "./suite-forks.ts";
import { readJsonFile, resultOf } from "./vectors.ts";

/** Where a case is found. */
export interface StateTestLocation {
  readonly file: string;
  readonly testName: string;
  /** as the tests name it */
  readonly forkName: string;
  /** place in the fork's `post` */
  readonly index: number;
}

/**
 * Runs a case again, with a trace: first what it is, then EIP-3155 lines of all its steps, then how it ended.
 *
 * @returns JSON objects, one a line
 */
export function traceStateTestCase(location: StateTestLocation): string[] {
  const { file, testName, forkName, index } = location;
  const test = (readJsonFile(file) as Record<string, StateTest>)[testName];
  const fork = evmForkOfSuite(forkName);
  if (test === undefined || fork === undefined) throw new Error(`${file} has no test ${testName} of ${forkName}`);
  const trace = new StepTrace();
  const engine = newEngine();
  engine.setTracer(trace.tracer);
  const { failure } = resultOf(testName, () => runStateTestCase(engine, stateTestCase(test, forkName, fork, index)));
  const end = {
    test: testName,
    fork: forkName,
    index,
    pass: failure === undefined,
    ...(failure !== undefined && { error: failure }),
  };
  return [JSON.stringify({ file, test: testName, fork: forkName, index }), ...trace.lines(), JSON.stringify(end)];
}

import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { evmForkOfEra, runStateTests, traceStateTestCase } from "@rnode/conformance";
import { bool, command, integerBetween, optionGroup, optionTable, text, UserError } from "@rnode/program";
import { VERSION } from "../version.ts";

const MAX_JOBS = 256;
const MAX_TRACES = 10_000;

const table = optionTable({
  program: "rengine statetest",
  summary: "Runs Ethereum state tests (the GeneralStateTests form).",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", {
      fork: { parse: text, env: false, help: "Run only the cases of this fork, as the tests name it: Cancun." },
      json: { parse: bool, default: false, env: false, help: "Print the result as JSON." },
      jobs: { parse: integerBetween(1, MAX_JOBS), env: false, help: "Worker threads; default: one a processor." },
      traces: {
        parse: integerBetween(0, MAX_TRACES),
        default: 1,
        env: false,
        help: "How many cases that fail are run again, with a trace of every step (EIP-3155) on standard error.",
      },
    }),
  },
  positionals: { name: "PATH…", min: 1, max: Number.MAX_SAFE_INTEGER },
});

/**
 * `rengine statetest`: prints the failures, one per line, then `N passed, M failed`. The first failures are run again with a trace.
 * Finding no test at all counts as a failure.
 */
export const statetest = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  const { fork, json, jobs = availableParallelism(), traces } = options.main;
  for (const path of positionals) if (!existsSync(path)) throw new UserError(`${path}: no such file or folder`);
  if (fork !== undefined && evmForkOfEra(fork) === undefined) throw new UserError(`--fork: "${fork}" is no fork of the tests`);
  const report = await runStateTests(positionals, {
    ...(fork !== undefined && { fork }),
    jobs,
    onProgress: (done, total) => io.progress(`${done} of ${total}`),
  });
  const { passed, failures, skipped, failedCases } = report;
  for (const failed of failedCases.slice(0, traces)) for (const line of traceStateTestCase(failed)) io.err(line);
  if (json) io.out(JSON.stringify({ passed, failed: failures.length, failures, skipped }));
  else {
    for (const failure of failures) io.out(failure);
    if (skipped.length > 0) io.err(`${skipped.length} skipped: ${skipped[0]}`);
    io.out(`${passed} passed, ${failures.length} failed`);
  }
  if (passed + failures.length === 0) throw new UserError("no state test found");
  return failures.length === 0 ? 0 : 1;
});

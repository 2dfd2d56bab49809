import { existsSync } from "node:fs";
import { runEngineTests } from "@rnode/conformance";
import { bool, command, optionGroup, optionTable, UserError } from "@rnode/program";
import { startTestEngine } from "../engine/test-engine.ts";
import { VERSION } from "../version.ts";

const table = optionTable({
  program: "rengine enginetest",
  summary: "Runs engine tests of execution-spec-tests (blockchain_tests_engine, blockchain_tests_engine_x) against the Engine API.",
  envPrefix: "RENGINE_",
  groups: {
    main: optionGroup("", { json: { parse: bool, default: false, env: false, help: "Print the result as JSON." } }),
  },
  positionals: { name: "PATH…", min: 1, max: Number.MAX_SAFE_INTEGER },
});

/** `rengine enginetest`: prints the failures, one per line, then `N passed, M failed`. Finding no test at all counts as a failure. */
export const enginetest = command({ table, version: VERSION }, async ({ options, positionals }, io) => {
  for (const path of positionals) if (!existsSync(path)) throw new UserError(`${path}: no such file or folder`);
  const report = await runEngineTests(positionals, startTestEngine, (done, total) => io.progress(`${done} of ${total}`));
  const { passed, failures, skipped } = report;
  if (options.main.json) io.out(JSON.stringify(report));
  else {
    for (const failure of failures) io.out(failure);
    for (const [name, count] of Object.entries(report.uncompared ?? {}))
      io.err(`${count} refusals were compared with no reason: the exception ${name} is not known`);
    if (skipped.length > 0) io.err(`${skipped.length} skipped: ${skipped[0]}`);
    io.out(`${passed} passed, ${failures.length} failed`);
  }
  if (passed + failures.length === 0) throw new UserError("no engine test found");
  return failures.length === 0 ? 0 : 1;
});

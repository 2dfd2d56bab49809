import { createLogger, errorText, type LogRecord } from "@rnode/observe";
import { describeFailure, type Program, type ProgramContext, runProgram, type Started } from "@rnode/program";
import { startDevnet } from "./devnet.ts";
import { type DevnetCliOptions, devnetOptionTable } from "./options.ts";
import { Screen } from "./screen.ts";
import { chainsOf, startDevnetSet } from "./set/devnet-set.ts";
import { statusOfSet, summaryOfSet } from "./set/set-screen.ts";
import { formatStatus } from "./status.ts";
import { summaryOf } from "./summary.ts";
import { VERSION } from "./version.ts";

const TTY_STATUS_INTERVAL_MS = 1_000;

const devnet = (screen: Screen): Program<(typeof devnetOptionTable)["groups"]> => ({
  name: "devnet",
  version: VERSION,
  table: devnetOptionTable,
  createLog: () =>
    createLogger({ level: "info", format: plainLine, destination: { write: (line) => screen.line(line.trimEnd()) } }),
  // A program's last words are printed line by line.
  describe: (error) => (describeFailure(error) === undefined ? undefined : errorText(error)),
  start: (options, context) => start(options, context, screen),
});

/** Runs the devnet: `npm start`. @returns the exit code */
export function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  return runProgram(devnet(new Screen(process.stdout.isTTY === true)), args, env);
}

/** For people: the text, and what went wrong. */
function plainLine({ level, text, fields }: LogRecord): string {
  if (level === "info") return text;
  const { error, ...others }: Record<string, unknown> = Object.assign({}, ...fields);
  const details = Object.entries(others).map(([name, value]) => `${name} ${String(value)}`);
  return [text, error === undefined ? "" : `: ${errorText(error)}`, details.length === 0 ? "" : ` (${details.join(", ")})`].join(
    "",
  );
}

async function start({ devnet: options, parameters }: DevnetCliOptions, context: ProgramContext, screen: Screen): Promise<Started> {
  const { scope, log, clock, stop } = context;
  const startedMs = clock.monotonicMs();
  scope.signal.addEventListener("abort", () => screen.endStatus());
  if (options.exitAfterMs !== undefined) void clock.sleep(options.exitAfterMs, scope.signal).then(() => stop("--exit-after"));
  const everyMs = screen.isTty ? TTY_STATUS_INTERVAL_MS : options.statusIntervalMs;
  const chains = chainsOf(options);
  if (chains > 1) {
    const set = await startDevnetSet(scope, { ...options, chains, parameters, log: (line) => log.info(line) });
    log.info(summaryOfSet(set, options.datadir, clock.monotonicMs() - startedMs));
    const print = async (): Promise<void> => {
      const line = await statusOfSet(set);
      if (!scope.signal.aborted) screen.status(line);
    };
    return { failure: set.failure, status: { everyMs, print } };
  }
  const running = await startDevnet(scope, { ...options, parameters, log: (line) => log.info(line) });
  log.info(summaryOf(running, options.datadir, clock.monotonicMs() - startedMs));
  const print = async (): Promise<void> => {
    const status = await running.status();
    if (!scope.signal.aborted) screen.status(formatStatus(status, clock.unixMs() / 1000));
  };
  return { failure: running.failure, status: { everyMs, print } };
}

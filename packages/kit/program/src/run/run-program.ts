import { createLogger, errorText, type Logger } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { describeOptions } from "../options/help-text.ts";
import type { OptionGroup, OptionsOf, OptionTable } from "../options/option-group.ts";
import type { logOptions, metricsOptions, pprofOptions, shutdownOptions } from "../options/standard-options.ts";
import { openPprof } from "../pprof/open-pprof.ts";
import { type Describe, describeFailure, Halt, listenForFaults, logFailure } from "../process/failure.ts";
import { Scope } from "../process/scope.ts";
import { listenForStop, type StopSignal } from "../process/stop-signal.ts";
import { systemClock } from "../process/system-clock.ts";
import type { Health } from "../servers/metrics-server.ts";
import { Readiness } from "../servers/readiness.ts";
import { runCommand, type Subcommands } from "./command.ts";
import { configCommand } from "./config-command.ts";
import { noProgramMetrics, openMetrics, type ProgramMetrics } from "./program-metrics.ts";
import { readOptions } from "./read-options.ts";

/** Time for a start to abort after a stop signal. */
const START_END_LIMIT_MS = 5_000;

type Groups = Readonly<Record<string, OptionGroup>>;
/** The option groups that the skeleton itself reads, if the program has them. */
interface StandardOptions {
  readonly log?: OptionsOf<typeof logOptions>;
  readonly metrics?: OptionsOf<typeof metricsOptions>;
  readonly pprof?: OptionsOf<typeof pprofOptions>;
  readonly shutdown?: OptionsOf<typeof shutdownOptions>;
}
export type ProgramOptions<G extends Groups> = { readonly [K in keyof G]: OptionsOf<G[K]> };

export interface Program<G extends Groups> {
  /** the name of the command: `rnode` */
  readonly name: string;
  /** `v0.1.0` */
  readonly version: string;
  readonly table: OptionTable<G>;
  /** by name; `config print` is added to them */
  readonly subcommands?: Subcommands;
  /** for a program with its own way of logging; default: the logger that the `log` options describe */
  readonly createLog?: (options: ProgramOptions<G>) => Logger;
  /** prefix of its metrics, with the underscore; a program has metrics only with this and the `metrics` options */
  readonly metricsPrefix?: string;
  /** under which other names its metrics are exposed, too; default: none */
  readonly metricAliases?: (name: string) => readonly string[];
  /** how a fatal error is described; default: `describeFailure` */
  readonly describe?: Describe;
  /**
   * Checks of options, files and tables at the start: a check calls no other program, writes nothing, and throws the start's
   * error. `config print` runs all of them.
   */
  readonly checks?: readonly ((options: ProgramOptions<G>) => unknown)[];
  /** Starts everything through the context's scope. An exception ends the program. */
  start(options: ProgramOptions<G>, context: ProgramContext): Promise<Started>;
}

export interface ProgramContext {
  readonly scope: Scope;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: ProgramMetrics;
  /** for `GET /healthz` */
  readonly health: () => Health;
  /** for `GET /readyz`: parts say why they cannot be relied on */
  readonly readiness: Readiness;
  /** Ends the program in the same way as a signal. */
  readonly stop: (reason: string) => void;
  /** Ends the program in this way, and starts it again with the same options, in the same process. */
  readonly restart: (reason: string) => void;
}

export interface Started {
  /** rejects when the program cannot continue */
  readonly failure?: Promise<unknown>;
  /** printed repeatedly while the program runs */
  readonly status?: { readonly everyMs: number; readonly print: () => unknown };
}

type End =
  | { readonly kind: "asked" | "again"; readonly by: string }
  | { readonly kind: "failed"; readonly what: string; readonly error: unknown };

/**
 * Runs a program from its arguments to its exit code: 0 after a stop signal, 1 if it could not start or continue. If the first
 * argument is a subcommand, that runs instead; each program has `config print`, which only prints the options.
 */
export async function runProgram<const G extends Groups>(
  program: Program<G>,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const { name, version, table, describe } = program;
  const subcommands: Subcommands = { ...program.subcommands, "config print": async () => configCommand(program) };
  const [first = "", ...rest] = args;
  const command = first === "config" ? subcommands["config print"] : subcommandOf(program, first);
  if (command !== undefined) return runCommand(first === "config" ? name : `${name} ${first}`, command, rest, env, describe);
  const parsed = await readOptions({ name, version, subcommands }, table, args, env);
  if (typeof parsed === "number") return parsed;
  const { options, warnings } = parsed;
  const log = (program.createLog ?? standardLog)(options);
  for (const warning of warnings) log.warn(warning);
  log.info(`${name} starts`, { version, node: process.versions.node, pid: process.pid });
  log.debug("options", Object.fromEntries(describeOptions(table, options)));
  for (;;) {
    const code = await new ProgramRun(program, options, log).run();
    if (code !== "again") return code;
  }
}

const subcommandOf = <const G extends Groups>({ subcommands = {} }: Program<G>, name: string): Subcommands[string] | undefined =>
  Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;

function standardLog({ log }: StandardOptions): Logger {
  if (log === undefined) throw new Error("a program without the options `log` brings its own logger");
  return createLogger(log);
}

class ProgramRun<G extends Groups> {
  readonly #program: Program<G>;
  readonly #options: ProgramOptions<G>;
  readonly #log: Logger;
  readonly #clock: Clock = systemClock;
  /** what operators look at, which outlives the program's parts */
  readonly #observers: Scope;
  readonly #scope: Scope;
  #isStarting = true;
  #isDraining = false;

  constructor(program: Program<G>, options: ProgramOptions<G>, log: Logger) {
    this.#program = program;
    this.#options = options;
    this.#log = log;
    this.#observers = new Scope({ log, clock: this.#clock });
    this.#scope = new Scope({ log, clock: this.#clock });
  }

  /** @returns the exit code; "again": it is to be started again */
  async run(): Promise<number | "again"> {
    const signal = listenForStop((name) => {
      this.#log.warn("ended without waiting", { signal: name });
      process.exit(1);
    });
    let isAskedToStop = false;
    const faults = listenForFaults();
    let askToEnd: (end: End) => void = () => {};
    const asked = new Promise<End>((resolve) => {
      askToEnd = resolve;
    });
    void signal.asked.then((by) => {
      isAskedToStop = true;
      askToEnd({ kind: "asked", by });
    });
    const starting = this.#start(askToEnd);
    const failed = [
      this.#untilFailed(starting),
      faults.first.then((error): End => ({ kind: "failed", what: `${this.#program.name} cannot go on`, error })),
    ];
    const first = await Promise.race([...failed, asked]);
    const end = first.kind === "asked" ? await Promise.race([...failed, this.#drained(first)]) : first;
    if (end.kind === "failed") this.#fail(end.what, end.error);
    else this.#log.info(end.kind === "again" ? "starting again" : "stopping", { asked: end.by });
    let hasFailed = end.kind === "failed";
    faults.onFurther((error) => {
      hasFailed = true;
      this.#fail("error while closing", error);
    });
    if (!(await this.#close(starting))) hasFailed = true;
    if (end.kind === "failed" && end.error instanceof Halt) await this.#idle(end.error, signal);
    if (!(await this.#observers.close())) hasFailed = true;
    if (!hasFailed) this.#log.info("stopped"); // otherwise the last line is the reason
    signal.forget();
    faults.forget();
    if (end.kind === "again" && !isAskedToStop && !hasFailed) return "again";
    return hasFailed ? 1 : 0;
  }

  /** Serves on while load balancers notice that it is not ready. */
  async #drained(asked: End): Promise<End> {
    const { shutdown }: StandardOptions = this.#options;
    if (shutdown === undefined || shutdown.delayMs === 0 || this.#isStarting) return asked;
    this.#isDraining = true;
    this.#log.info("draining: not ready any more, and serving until the delay is over", { delayMs: shutdown.delayMs });
    await this.#clock.sleep(shutdown.delayMs);
    return asked;
  }

  #fail(what: string, error: unknown): void {
    logFailure(this.#program.name, this.#log, what, error, this.#program.describe ?? describeFailure);
  }

  async #start(end: (end: End) => void): Promise<Started> {
    const { name, version, metricsPrefix } = this.#program;
    const health = (): Health =>
      this.#scope.signal.aborted
        ? { isHealthy: false, body: { version, reasons: [`${name} is stopping`] } }
        : { isHealthy: true, body: { version } };
    const readiness = new Readiness(version);
    readiness.expect(() => {
      if (this.#isStarting) return [`${name} is starting`];
      return this.#isDraining ? [`${name} is stopping`] : (health().body.reasons ?? []);
    });
    const { metrics: metricsGroup, pprof }: StandardOptions = this.#options;
    const metrics =
      metricsGroup === undefined || metricsPrefix === undefined
        ? noProgramMetrics
        : await openMetrics(metricsGroup, {
            prefix: metricsPrefix,
            aliasesOf: this.#program.metricAliases,
            version,
            isUp: () => !this.#isStarting,
            scope: this.#observers,
            health,
            ready: (query) => (query === undefined ? readiness.health : readiness.healthWithin(query)),
            onListen: (port) => this.#log.info("metrics listen", { addr: metricsGroup.addr, port }),
          });
    if (pprof !== undefined) await openPprof(pprof, { scope: this.#observers, clock: this.#clock, log: this.#log });
    const stop = (by: string): void => end({ kind: "asked", by });
    const restart = (by: string): void => end({ kind: "again", by });
    const context = { scope: this.#scope, log: this.#log, clock: this.#clock, metrics, health, readiness, stop, restart };
    const started = await this.#program.start(this.#options, context);
    this.#isStarting = false;
    const { status } = started;
    if (status !== undefined && !this.#scope.signal.aborted) this.#repeat(status, `status of ${name}`);
    return started;
  }

  async #untilFailed(starting: Promise<Started>): Promise<End> {
    const { name } = this.#program;
    let started: Started;
    try {
      started = await starting;
    } catch (error) {
      return { kind: "failed", what: `${name} cannot start`, error };
    }
    try {
      await started.failure;
      return await new Promise(() => {}); // the program keeps running
    } catch (error) {
      return { kind: "failed", what: `${name} cannot go on`, error };
    }
  }

  /** Waits for the part that is being started, so that it is closed like the rest. */
  async #close(starting: Promise<Started>): Promise<boolean> {
    this.#scope.abort();
    const settled = starting.then(
      () => true,
      (error: unknown) => {
        this.#log.debug("the start was given up", { error: errorText(error) });
        return true;
      },
    );
    const limit = new AbortController();
    const late = this.#clock.sleep(START_END_LIMIT_MS, limit.signal).then(() => false);
    const hasSettled = await Promise.race([settled, late]);
    limit.abort();
    if (!hasSettled) this.#log.error("the start does not end: going on without waiting", { limitMs: START_END_LIMIT_MS });
    return (await this.#scope.close()) && hasSettled;
  }

  /** Metrics and profiles are still served, until a signal comes or the time is over. */
  async #idle({ idleMs }: Halt, signal: StopSignal): Promise<void> {
    this.#log.warn("halted: waits before it ends, so that nothing restarts it at once", { waitMs: idleMs });
    const waiting = new AbortController();
    await Promise.race([this.#clock.sleep(idleMs, waiting.signal), signal.asked]);
    waiting.abort();
  }

  #repeat({ everyMs, print }: NonNullable<Started["status"]>, name: string): void {
    const { signal } = this.#scope;
    const loop = async (): Promise<void> => {
      for (;;) {
        await this.#clock.sleep(everyMs, signal);
        if (signal.aborted) return;
        await print();
      }
    };
    const ended = loop();
    this.#scope.onClose(name, () => ended);
  }
}

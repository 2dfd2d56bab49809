import { createLogger, createMetrics, type Logger, noMetrics } from "@rnode/observe";
import { helpText, parseOptions } from "@rnode/options";
import { isCodedError } from "@rnode/primitives";
import { listenForStop, startMetricsServer, systemClock } from "@rnode/program";
import { type Batcher, startBatcher } from "./batcher.ts";
import { type RbatcherOptions, rbatcherOptions, unusableOption } from "./options.ts";
import { VERSION } from "./version.ts";

/** `rbatcher`: runs until SIGINT or SIGTERM. @returns the exit code: 1 when it could not start */
export async function main(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const parsed = parseOptions(rbatcherOptions, args, env);
  switch (parsed.kind) {
    case "help":
      process.stdout.write(helpText(rbatcherOptions));
      return 0;
    case "version":
      process.stdout.write(`rbatcher ${VERSION}\n`);
      return 0;
    case "error":
      return fail(parsed.message);
    case "options":
      break;
  }
  const { options, sources, warnings } = parsed;
  const unusable = unusableOption(options, sources);
  if (unusable !== undefined) return fail(unusable);
  const log = createLogger(options.log);
  for (const warning of warnings) log.warn(warning);
  try {
    await run(options, log);
    return 0;
  } catch (error) {
    if (isCodedError(error, "batcher/") || isSystemError(error)) return fail(error.message);
    throw error;
  }
}

function fail(message: string): number {
  process.stderr.write(`rbatcher: ${message.replace(/\s*\n\s*/g, " ")}\n`);
  return 1;
}

/** EADDRINUSE and the like. */
function isSystemError(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error;
}

async function run(options: RbatcherOptions, log: Logger): Promise<void> {
  const metrics = options.metrics.enabled ? createMetrics({ prefix: "rbatcher_default_" }) : undefined;
  const stop = listenForStop();
  let batcher: Batcher | undefined;
  const metricsServer =
    metrics === undefined
      ? undefined
      : await startMetricsServer(metrics, { host: options.metrics.addr, port: options.metrics.port });
  try {
    batcher = await startBatcher(options, { clock: systemClock, log, metrics: metrics ?? noMetrics });
    // A failure to get ready ends the program, getting ready does not.
    await Promise.race([batcher.ready.then(() => stop.asked), stop.asked]);
    log.info("stopping", { signal: await stop.asked });
  } finally {
    await batcher?.close();
    await metricsServer?.close();
    stop.forget();
    log.info("stopped");
  }
}

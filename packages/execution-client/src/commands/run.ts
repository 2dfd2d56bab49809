import { createLogger } from "@rnode/observe";
import { describeOptions, helpText, parseOptions } from "@rnode/options";
import { listenForStop } from "@rnode/program";
import { startClient } from "../client.ts";
import { clientTable } from "../options.ts";
import { VERSION } from "../version.ts";
import { describeError } from "./command-error.ts";

/** A shutdown that takes longer is cut off: the database survives a kill at any moment. */
const SHUTDOWN_LIMIT_MS = 5000;

/** `rengine` without a subcommand: runs until SIGINT or SIGTERM. @returns the exit code */
export async function runClient(args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const parsed = parseOptions(clientTable, args, env);
  switch (parsed.kind) {
    case "help":
      process.stdout.write(helpText(clientTable));
      return 0;
    case "version":
      process.stdout.write(`rengine v${VERSION}\n`);
      return 0;
    case "error":
      process.stderr.write(`rengine: ${parsed.message}\n`);
      return 1;
    case "options":
      break;
  }
  const { options, warnings } = parsed;
  const log = createLogger(options.log);
  for (const warning of warnings) log.warn(warning);
  log.info("rengine starts", { version: VERSION, node: process.versions.node, pid: process.pid });
  log.debug("options", Object.fromEntries(describeOptions(clientTable, options)));

  const stop = listenForStop();
  let client: Awaited<ReturnType<typeof startClient>>;
  try {
    client = await startClient(options, log);
  } catch (error) {
    const description = describeError(error);
    if (description === undefined) throw error;
    process.stderr.write(`rengine: ${description}\n`);
    return 1;
  }
  const failed = client.failed.then((failure) => ({ failure }));
  const reason = await Promise.race([stop.asked.then((signal) => ({ signal })), failed]);
  const hasFailed = "failure" in reason;
  if (hasFailed) process.stderr.write(`rengine: ${reason.failure}\n`);
  log.info("stopping", reason);
  const cutOff = setTimeout(() => {
    log.warn("shutdown takes too long: cut off");
    process.exit(1);
  }, SHUTDOWN_LIMIT_MS);
  await client.close();
  clearTimeout(cutOff);
  log.info("stopped");
  return hasFailed ? 1 : 0;
}

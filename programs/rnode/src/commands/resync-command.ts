import { createL1Metrics } from "@rnode/l1";
import { createLogger, noMetrics } from "@rnode/observe";
import { command, optionGroup, optionTable, systemClock, UserError, uint } from "@rnode/program";
import { readEngineSecret } from "../engine/engine-secret.ts";
import { rnodeOptions } from "../options.ts";
import { Connections } from "../start/connections.ts";
import { loadDerivationConfig } from "../start/rollup-setup.ts";
import { VERSION } from "../version.ts";
import { resync } from "./resync.ts";

const table = optionTable({
  ...rnodeOptions,
  program: "rnode resync",
  summary:
    "Takes the heads of the execution client back to a block, the finalized one too; the next start derives from there. Takes all options of rnode.",
  groups: {
    resync: optionGroup("", {
      from: { parse: uint, required: true, env: false, help: "Number of the last L2 block to keep. Those after it are given up." },
    }),
    ...rnodeOptions.groups,
  },
});

/** `rnode resync --from=N`. It must run while no rollup node drives the execution client. */
export const resyncCommand = command({ table, version: VERSION }, async ({ options }, io) => {
  const { from } = options.resync;
  const log = createLogger(options.log);
  const { rollup: config } = await loadDerivationConfig(options, { log, clock: systemClock });
  const connections = new Connections(options, {
    config,
    engineSecret: readEngineSecret(options, config.l2ChainId, log),
    clock: systemClock,
    log,
    metrics: createL1Metrics(noMetrics),
    takesHeadBack: true,
  });
  try {
    await connections.check(new AbortController().signal);
    const { l1, l2, engine } = connections;
    const outcome = await resync(from, { config, l1, l2, engine });
    if (outcome.kind === "refused") throw new UserError(outcome.reason);
    const { before, head } = outcome;
    io.out(`the execution client went back from block ${before.number} to ${head.number} ${head.hash}: start rnode again`);
    return 0;
  } finally {
    await connections.close();
  }
});

import { parseArgs } from "node:util";
import { hasHaproxy } from "./balancer.ts";
import { figureTable } from "./figures.ts";
import { reportOf, runFleet } from "./run-fleet.ts";

const HELP = `npm run fleet -- [options]
Starts a devnet with nodes behind HAProxy, restarts and breaks them while honest clients are served, and prints a table;
exit code 1: an answer failed, or contradicted an earlier one. Needs haproxy (apt-get install haproxy).
  --minutes=N     how long (default 3; a node misses 50 blocks a minute)
  --light=N       nodes that follow others, besides the two that derive (default 2)
  --clients=N     of HTTP, and half as many of WebSocket (default 8)
  --figures       measures requests a second with 1, 2 and 4 nodes, too
  --only=TEXT,…   scenarios with this in their names`;

const SCENARIOS_OF_SAME_LENGTH = 4;

/** `npm run fleet`. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "3" },
      light: { type: "string", default: "2" },
      clients: { type: "string", default: "8" },
      figures: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (!hasHaproxy()) throw new Error("haproxy is not installed: apt-get install haproxy");
  const [minutes, clients] = [Number(values.minutes), Number(values.clients)];
  const run = await runFleet({
    ...{ light: Number(values.light), httpClients: clients, wsClients: Math.ceil(clients / 2), intervalMs: 100 },
    ...{ calmMs: 5_000, holdMs: (minutes * 20_000) / SCENARIOS_OF_SAME_LENGTH, behindBlocks: Math.round(50 * minutes) },
    figures: values.figures ? [1, 2, 4] : [],
    only: values.only.split(",").filter((part) => part !== ""),
    log: (line) => console.error(line),
  });
  if (values.figures) console.log(`${figureTable(run.figures)}\n`);
  console.log(reportOf(run));
  return run.scenarios.every(({ faults }) => faults.length === 0) ? 0 : 1;
}

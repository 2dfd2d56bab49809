import { type Feed, FeedSource, type Logger, noFeed } from "@rnode/observe";
import type { Clock } from "@rnode/primitives";
import { namingPorts, type Readiness, type Scope } from "@rnode/program";
import type { HealthState, ProgramKind } from "../messages.ts";
import type { DashboardOptions } from "../options.ts";
import { startDashboardServer } from "./dashboard-server.ts";
import { FeedBroadcast } from "./feed-broadcast.ts";
import { readPages } from "./page-files.ts";

export interface DashboardDeps {
  readonly name: ProgramKind;
  readonly version: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly clock: Clock;
  readonly readiness: Pick<Readiness, "reasons">;
}

export interface OpenedDashboard {
  /** receives the entries from the parts of the program */
  readonly feed: Feed;
  /** Records the current values. Call it every few seconds, even without viewers. */
  readonly sample: () => void;
}

/** Serves a program's dashboard while the scope is open, if it is switched on. @throws {UserError} the port is taken, or no page is built */
export async function openDashboard(
  options: DashboardOptions,
  { name, version, scope, log, clock, readiness }: DashboardDeps,
  pages = readPages,
): Promise<OpenedDashboard> {
  if (!options.enabled) return { feed: noFeed, sample: () => {} };
  const feed = new FeedSource();
  const health = (): HealthState => {
    const { reasons } = readiness;
    return { isReady: reasons.length === 0, reasons };
  };
  const broadcast = new FeedBroadcast({ id: name, name, kind: name, version, startedMs: clock.unixMs() }, { feed, clock, health });
  const start = () => startDashboardServer(options, pages(), broadcast);
  scope.onClose("dashboard", () => broadcast.close());
  const { port } = await scope.use(
    "dashboard server",
    () => namingPorts({ "dashboard.port": options.port }, start),
    (server) => server.close(),
  );
  log.info("dashboard", { url: `http://${options.addr.includes(":") ? `[${options.addr}]` : options.addr}:${port}/` });
  return { feed, sample: () => feed.sample(clock.unixMs()) };
}

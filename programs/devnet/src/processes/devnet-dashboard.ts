import { type DashboardSource, type ProgramKind, readPages, startDashboardServer, UpstreamFeed } from "@rnode/dashboard";
import { namingPorts, type Scope } from "@rnode/program";
import type { Ports, PortUse } from "../ports.ts";
import type { Program } from "./program.ts";
import type { ProgramName } from "./program-names.ts";

/** In the order of the page. `feed`: the port of the program's feed; of the other programs, only the status is shown. */
const SHOWN: Readonly<Record<ProgramName, { readonly kind: ProgramKind; readonly feed?: PortUse }>> = {
  l1: { kind: "l1" },
  daServer: { kind: "rda-server" },
  sequencerEngine: { kind: "rengine", feed: "sequencerEngineFeed" },
  sequencerNode: { kind: "rnode", feed: "sequencerNodeFeed" },
  batcher: { kind: "rbatcher", feed: "batcherFeed" },
  proposer: { kind: "rproposer", feed: "proposerFeed" },
  verifierEngine: { kind: "rengine", feed: "verifierEngineFeed" },
  verifierNode: { kind: "rnode", feed: "verifierNodeFeed" },
  followerEngine: { kind: "rengine", feed: "followerEngineFeed" },
  followerNode: { kind: "rnode", feed: "followerNodeFeed" },
};

/** A program on the page. */
export interface ShownProgram {
  readonly id: string;
  readonly kind: ProgramKind;
  /** `undefined`: only its status is shown */
  readonly feedPort?: number | undefined;
  readonly program: Program;
}

/** The programs of a chain, in the order of the page. @param prefix of their ids */
export const shownPrograms = (ports: Ports, programs: Partial<Record<ProgramName, Program>>, prefix = ""): ShownProgram[] =>
  Object.entries(SHOWN).flatMap(([id, { kind, feed }]) => {
    const program = programs[id as ProgramName];
    return program === undefined ? [] : [{ id: prefix + id, kind, feedPort: feed && ports[feed], program }];
  });

/**
 * One page for all programs. Each viewer has separate connections to the programs, so that nothing runs without viewers. @returns
 * its address
 */
export async function openDevnetDashboard(scope: Scope, ports: Ports, programs: () => readonly ShownProgram[]): Promise<string> {
  const source: DashboardSource = {
    watch: (viewer) => {
      const feeds = programs().map(({ id, kind, feedPort, program }) => {
        const url = feedPort === undefined ? undefined : `http://127.0.0.1:${feedPort}/`;
        return new UpstreamFeed({ id, name: program.spec.name, kind, url, downBecause: () => program.downBecause }, viewer);
      });
      return () => {
        for (const feed of feeds) feed.close();
      };
    },
  };
  const options = { addr: "127.0.0.1", port: ports.dashboard, vhosts: ["localhost"] };
  const { port } = await scope.use(
    "dashboard",
    () => namingPorts({ "base-port": ports.dashboard }, () => startDashboardServer(options, readPages(), source)),
    (server) => server.close(),
  );
  return `http://127.0.0.1:${port}/`;
}

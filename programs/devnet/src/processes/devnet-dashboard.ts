import { type DashboardSource, type ProgramKind, readPages, startDashboardServer, UpstreamFeed } from "@rnode/dashboard";
import { namingPorts, type Scope } from "@rnode/program";
import type { Ports, PortUse } from "../ports.ts";
import type { Program } from "./program.ts";
import type { ProgramName } from "./program-names.ts";
import type { SequencerCluster } from "./sequencers.ts";

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

/**
 * One page for all programs. Each viewer has separate connections to the programs, so that nothing runs without viewers. @returns
 * its address
 */
export async function openDevnetDashboard(
  scope: Scope,
  ports: Ports,
  programs: () => Partial<Record<ProgramName, Program>>,
  further: () => SequencerCluster["programs"],
): Promise<string> {
  const source: DashboardSource = {
    watch: (viewer) => {
      const all = programs();
      const feeds = Object.entries(SHOWN).flatMap(([id, { kind, feed }]) => {
        const program = all[id as ProgramName];
        if (program === undefined) return [];
        const url = feed && `http://127.0.0.1:${ports[feed]}/`;
        return new UpstreamFeed({ id, name: program.spec.name, kind, url, downBecause: () => program.downBecause }, viewer);
      });
      for (const { id, kind, feedPort, program } of further()) {
        const url = feedPort && `http://127.0.0.1:${feedPort}/`;
        feeds.push(
          new UpstreamFeed(
            { id, name: program.spec.name, kind, url: url || undefined, downBecause: () => program.downBecause },
            viewer,
          ),
        );
      }
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

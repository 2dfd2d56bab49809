import type { PeerBan, PeerDump, PeerInfo, PeerStats } from "@rnode/p2p";

/** What `rnodep2p_*` answers about the peers of a node. */
export interface PeerReport {
  readonly self: PeerInfo;
  readonly stats: PeerStats;
  readonly dump: PeerDump;
  readonly bans: readonly PeerBan[];
}

const HEADINGS = ["PEER", "ADDRESS", "DIRECTION", "AGENT", "LATENCY", "SCORE", "GOSSIP", "PROTECTED"] as const;
const DIRECTIONS = ["", "in", "out"] as const;
const MAX_AGENT_LENGTH = 24;

/**
 * The report as text lines: this node, connected peers with the best score first, bans with their reasons, and the blocked peers,
 * addresses and subnets.
 */
export function peerLines({ self, stats, dump, bans }: PeerReport): string[] {
  const lines = [`this node  ${self.peerID}`, ...self.addresses.map((address) => `           ${plain(address)}`)];
  if (self.ENR !== "") lines.push(`           ${plain(self.ENR)}`);
  lines.push(`${stats.connected} connected, ${stats.known} known, ${stats.table} in the discovery table`, "");

  const peers = Object.values(dump.peers).sort(
    (a, b) => b.connectedness - a.connectedness || b.scores.gossip.total - a.scores.gossip.total,
  );
  if (peers.length === 0) lines.push("no peers");
  else lines.push(...aligned([HEADINGS, ...peers.map(row)]));

  if (bans.length > 0) lines.push("", ...aligned([["BANNED", "FOR", "BECAUSE"], ...bans.map(banRow)]));
  const blocked = [...dump.bannedPeers, ...dump.bannedIPS, ...dump.bannedSubnets];
  if (blocked.length > 0) lines.push("", "BLOCKED", ...blocked.map(plain));
  return lines;
}

function row(peer: PeerInfo): readonly string[] {
  return [
    plain(peer.peerID),
    plain((peer.addresses[0] ?? "").replace(/\/p2p\/.*$/, "")),
    peer.connectedness === 1 ? DIRECTIONS[peer.direction] : "not connected",
    shortened(plain(peer.userAgent)),
    peer.latency === 0 ? "" : `${(peer.latency / 1e6).toFixed(1)} ms`,
    peer.scores.gossip.total.toFixed(2),
    yes(peer.gossipBlocks),
    yes(peer.protected),
  ];
}

const banRow = ({ banned, secondsLeft, reason }: PeerBan): readonly string[] => [
  plain(banned),
  durationText(secondsLeft),
  plain(reason === "" ? "not recorded" : reason),
];

const yes = (is: boolean): string => (is ? "yes" : "");

const shortened = (text: string): string => (text.length > MAX_AGENT_LENGTH ? `${text.slice(0, MAX_AGENT_LENGTH - 1)}…` : text);

function durationText(seconds: number): string {
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return h > 0 ? `${h}h${m}m` : m > 0 ? `${m}m${s}s` : `${s}s`;
}

/** Peers wrote these texts: nothing in them may steer a terminal. */
const plain = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?");

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  return rows.map((cells) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

import { loadavg } from "node:os";

/** One measurement of one server. */
export interface Row {
  readonly scenario: string;
  readonly connections: number;
  readonly target: string;
  /** requests a second in each round */
  readonly rounds: readonly number[];
  readonly requestsPerSec: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** of the server, per request, microseconds */
  readonly cpuUs: number;
  readonly errors: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const OWN_COLUMNS = ["request", "connections", "requests/s", "p50, p99 ms", "CPU µs"] as const;
const peerColumns = (peer: string) => [`${peer}: requests/s`, "p50, p99 ms", "CPU µs", `× ${peer}`, "for the same CPU"];
/** The ratio to the peer that each row should reach. */
const WANTED = 1;

const milliseconds = (ms: number): string => (ms < 10 ? ms.toFixed(2) : String(Math.round(ms)));
const figures = ({ requestsPerSec, p50Ms, p99Ms, cpuUs }: Row): string[] => [
  Math.round(requestsPerSec).toLocaleString("en"),
  `${milliseconds(p50Ms)}, ${milliseconds(p99Ms)}`,
  cpuUs.toFixed(1),
];

const OWN = "rengine";

interface Comparison {
  readonly own: Row;
  readonly peer: Row | undefined;
  /** the median of the rounds' ratios */
  readonly ratio: number | undefined;
}

/** The clients measured besides rengine. */
const peersOf = (rows: readonly Row[]): string[] => [...new Set(rows.map(({ target }) => target))].filter((name) => name !== OWN);

function compare(rows: readonly Row[], peerName: string | undefined): Comparison[] {
  return rows
    .filter(({ target }) => target === OWN)
    .map((own) => {
      const peer = rows.find(
        ({ target, scenario, connections }) => target === peerName && scenario === own.scenario && connections === own.connections,
      );
      const ratio = peer && median(own.rounds.map((perSec, round) => perSec / peer.rounds[round]!));
      return { own, peer, ratio };
    });
}

function cellsOf({ own, peer, ratio }: Comparison, isFirst: boolean): string[] {
  const cells = [isFirst ? own.scenario : "", String(own.connections), ...figures(own)];
  if (peer === undefined || ratio === undefined) return cells;
  const mark = ratio < WANTED ? " below" : "";
  return [...cells, ...figures(peer), `${ratio.toFixed(2)}${mark}`, (peer.cpuUs / own.cpuUs).toFixed(2)];
}

/** A line about the latest measurement for each peer. */
export function progressOf(rows: readonly Row[]): string {
  const peers = peersOf(rows);
  return (peers.length === 0 ? [undefined] : peers)
    .flatMap((peer) => compare(rows, peer).map((comparison) => ({ peer, cells: cellsOf(comparison, true) })))
    .map(({ peer, cells: [name, connections, perSec, latency, cpu, peerPerSec, , , ratio, sameCpu] }) => {
      const own = `${name!.padEnd(36)} ${connections!.padStart(3)}: ${perSec!.padStart(9)} req/s, ${latency} ms, ${cpu} µs CPU`;
      return ratio === undefined ? own : `${own}; ${peer} ${peerPerSec} req/s: ${ratio} × ${peer}, ${sameCpu} × for the same CPU`;
    })
    .join("\n");
}

/** All measurements as a Markdown table for each peer, the rows below the target, and the failures. */
export function report(rows: readonly Row[]): string {
  const peers = peersOf(rows);
  const failed = rows.filter(({ errors }) => errors > 0);
  return [
    ...(peers.length === 0 ? [tableOf(rows, undefined)] : peers.map((peer) => tableOf(rows, peer))),
    ...failed.map(({ scenario, connections, target, errors }) => `ERRORS: ${target}, ${scenario}, ${connections}: ${errors}`),
    `load ${loadavg()
      .map((value) => value.toFixed(1))
      .join(", ")}`,
  ].join("\n");
}

function tableOf(rows: readonly Row[], peer: string | undefined): string {
  const comparisons = compare(rows, peer);
  const table = comparisons.map((comparison, index) => {
    const isFirst = comparisons[index - 1]?.own.scenario !== comparison.own.scenario;
    return cellsOf(comparison, isFirst);
  });
  const header: readonly string[] = peer === undefined ? OWN_COLUMNS : [...OWN_COLUMNS, ...peerColumns(peer)];
  const widths = header.map((name, column) => Math.max(name.length, ...table.map((cells) => cells[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (cells[at] ?? "").padEnd(width)).join(" | ")} |`;
  const below = comparisons.filter(({ ratio }) => ratio !== undefined && ratio < WANTED);
  return [
    line(header),
    `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`,
    ...table.map(line),
    "",
    ...(peer === undefined
      ? []
      : [`${comparisons.length - below.length} of ${comparisons.length} rows reach ${WANTED.toFixed(1)} × ${peer}.`]),
    ...below.map(({ own, ratio }) => `below: ${own.scenario}, ${own.connections} connections: ${ratio!.toFixed(2)}`),
  ].join("\n");
}

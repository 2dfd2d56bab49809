import { cpus, loadavg } from "node:os";
import type { Bounds } from "./bounds.ts";
import type { Observation } from "./monitor/monitor.ts";
import type { MEASURED } from "./monitor/process-watch.ts";
import { type AttackRun, faultsOf } from "./verdict.ts";

const HEADINGS = [
  "attack",
  "from",
  "blocks (longest gap)",
  "cheap p50, p99 ms: before",
  "during",
  "after",
  "served again after",
  "failed",
  "sync status p99",
  "peak MiB: rengine s, v",
  "rnode s, v",
  "rbatcher",
  "deaths",
  "verdict",
];

/** The table, one row for each run of an attack, and below it the violated limits. */
export function reportOf(runs: readonly AttackRun[], bounds: Bounds, l2BlockTimeSec: number, ownLagP99Ms: number): string {
  const rows = runs.map((run) => rowOf(run, faultsOf(run, bounds, l2BlockTimeSec)));
  const faults = runs.flatMap((run) =>
    faultsOf(run, bounds, l2BlockTimeSec).map((fault) => `- ${run.attack} (from ${run.from}): ${fault}`),
  );
  return [
    `Node ${process.versions.node}, ${cpus()[0]?.model ?? "unknown CPU"}, ${cpus().length} cores, load ${loadavg()[0]!.toFixed(1)}; timers of the measuring process late by ${time(ownLagP99Ms)} ms (p99)`,
    "",
    `| ${HEADINGS.join(" | ")} |`,
    `|${HEADINGS.map(() => "---").join("|")}|`,
    ...rows.map((cells) => `| ${cells.join(" | ")} |`),
    ...(faults.length === 0 ? [] : ["", "Beyond the bounds:", ...faults]),
  ].join("\n");
}

export function lineOf(run: AttackRun, faults: readonly string[]): string {
  const { before, during } = run;
  const verdict = faults.length === 0 ? "withstood" : faults.join("; ");
  const done = Object.entries(run.attacker.counts).map(([what, count]) => `${count} ${what}`);
  const restart = run.restartSec === undefined ? "" : `, restart ${run.restartSec.toFixed(1)} s`;
  return `${run.attack} from ${run.from} (${during.seconds.toFixed(0)} s: ${done.join(", ")}): cheap p99 ${time(before.honest.p99Ms)} → ${time(during.honest.p99Ms)} ms${restart}; ${verdict}`;
}

function rowOf({ attack, from, before, during, after, recoverySec }: AttackRun, faults: readonly string[]): string[] {
  const mib = (name: (typeof MEASURED)[number]): string => Math.max(during.peakMib[name], after.peakMib[name]).toFixed(0);
  return [
    attack,
    from,
    `${during.blocks} in ${during.seconds.toFixed(0)} s (${during.longestBlockGapSec.toFixed(1)} s)`,
    cheap(before),
    cheap(during),
    cheap(after),
    recoverySec === undefined ? "not" : `${recoverySec.toFixed(1)} s`,
    String(during.honest.failed),
    time(during.node.p99Ms),
    `${mib("sequencerEngine")}, ${mib("verifierEngine")}`,
    `${mib("sequencerNode")}, ${mib("verifierNode")}`,
    mib("batcher"),
    String(during.deaths.length + after.deaths.length),
    faults.length === 0 ? "withstood" : "beyond",
  ];
}

const cheap = ({ honest }: Observation): string => `${time(honest.p50Ms)}, ${time(honest.p99Ms)}`;
const time = (ms: number): string => (Number.isNaN(ms) ? "none" : ms < 10 ? ms.toFixed(1) : ms.toFixed(0));

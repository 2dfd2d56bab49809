import type { AttackerReport } from "./attacker-process.ts";
import type { Bounds, MeasuredProgram } from "./bounds.ts";
import type { Observation } from "./monitor/monitor.ts";

/** One attack, as the monitor saw it. */
export interface AttackRun {
  readonly attack: string;
  readonly from: string;
  readonly before: Observation;
  readonly during: Observation;
  readonly after: Observation;
  /** from the end of the attack until the honest client's requests were answered as before; `undefined`: not within the wait */
  readonly recoverySec: number | undefined;
  readonly attacker: AttackerReport;
  /** how long the execution client took to answer after it was killed and started again */
  readonly restartSec?: number | undefined;
}

/** The violated limits; empty if the attack was withstood. */
export function faultsOf(run: AttackRun, bounds: Bounds, l2BlockTimeSec: number): string[] {
  const { before, during, after, attacker } = run;
  const faults: string[] = [];
  const fault = (isFault: boolean, text: () => string): void => {
    if (isFault) faults.push(text());
  };
  const p99Ms = allowedP99Ms(before, bounds);
  const gapSec = bounds.blockGapBlockTimes * l2BlockTimeSec;
  const wholeGapSec = Math.max(during.longestBlockGapSec, after.longestBlockGapSec);
  const stallSec = Math.max(during.longestSafeStallSec, after.longestSafeStallSec);
  for (const [who, latency] of [
    ["cheap requests", during.honest],
    ["sync status", during.node],
  ] as const) {
    fault(latency.p99Ms > p99Ms, () => `${who}: p99 ${ms(latency.p99Ms)} ms, bound ${ms(p99Ms)}`);
    const share = latency.requests === 0 ? 1 : latency.failed / latency.requests;
    fault(share > bounds.honestFailedShare, () => {
      const why = latency.failures.join("; ");
      return `${who}: ${latency.failed} of ${latency.requests} failed${why === "" ? "" : ` (${why})`}`;
    });
  }
  if (run.restartSec === undefined) {
    fault(wholeGapSec > gapSec, () => `${wholeGapSec.toFixed(1)} s without a block, bound ${gapSec}`);
  }
  fault(run.recoverySec === undefined || run.recoverySec > bounds.recoverySec, () =>
    run.recoverySec === undefined
      ? `the honest client was not served again within ${after.seconds.toFixed(0)} s`
      : `the honest client was served again after ${run.recoverySec.toFixed(1)} s, bound ${bounds.recoverySec}`,
  );
  fault(stallSec > bounds.safeStallSec, () => `safe stood still for ${stallSec.toFixed(0)} s, bound ${bounds.safeStallSec}`);
  for (const [program, boundMib] of Object.entries(bounds.ownMemoryMib) as [MeasuredProgram, number][]) {
    const peak = Math.max(during.peakMib[program], after.peakMib[program]);
    fault(peak > boundMib, () => `${program}: ${peak.toFixed(0)} MiB, bound ${boundMib}`);
  }
  for (const { what } of [...during.deaths, ...after.deaths]) faults.push(`died: ${what}`);
  for (const breach of attacker.breaches) faults.push(`allowed: ${breach}`);
  if (attacker.failure !== undefined) faults.push(`the attack itself failed: ${attacker.failure}`);
  return faults;
}

/** Beyond this, slowness before an attack comes from the previous one. */
const MOST_CALM_MS = 100;

/** The limit for a cheap request, plus the machine's latency without an attack. */
export function allowedP99Ms({ honest }: Observation, bounds: Bounds): number {
  return bounds.honestP99Ms + Math.min(MOST_CALM_MS, Number.isNaN(honest.p99Ms) ? 0 : honest.p99Ms);
}

const ms = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0));

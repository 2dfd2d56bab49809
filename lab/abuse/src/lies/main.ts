import { startAbusedDevnet } from "../abused-devnet.ts";
import { LIE_BOUNDS } from "../bounds.ts";
import { type LieRun, runCampaign } from "./campaign.ts";
import { createLiars } from "./liars.ts";
import type { VictimName } from "./victim.ts";

export interface LiesOptions {
  readonly victim: VictimName;
  readonly seed: number;
  readonly totalMs: number;
  readonly only: string;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** Starts the devnet with liars before the victim's L1, beacon node and engine. @returns whether every lie was withstood */
export async function runLies({ victim, seed, totalMs, only, signal, log }: LiesOptions): Promise<boolean> {
  const { liars, changeArgs, close: closeLiars } = await createLiars(victim);
  const runs: LieRun[] = [];
  try {
    const { devnet, close } = await startAbusedDevnet(log, changeArgs);
    try {
      await runCampaign(devnet, liars, {
        victim,
        seed,
        totalMs,
        only,
        signal,
        lieMs: LIE_BOUNDS.lieMs,
        recoveryMs: LIE_BOUNDS.recoverySec * 1000,
        onRun: (run) => {
          runs.push(run);
          log(lineOf(run));
        },
      });
    } finally {
      await close();
    }
  } finally {
    await closeLiars();
  }
  console.log(summaryOf(runs));
  return runs.every(({ faults }) => faults.length === 0);
}

function lineOf({ liar, deceit, atStart, lies, recoverySec, faults }: LieRun): string {
  const recovered = recoverySec === undefined ? "not recovered" : `recovered in ${recoverySec.toFixed(1)} s`;
  const verdict = faults.length === 0 ? "withstood" : faults.join("; ");
  return `${liar}: ${deceit}${atStart ? ", at the start" : ""} (${lies} lies): ${recovered}; ${verdict}`;
}

function summaryOf(runs: readonly LieRun[]): string {
  const of = (liar: string): string => {
    const own = runs.filter((run) => run.liar === liar);
    const slowest = Math.max(0, ...own.map(({ recoverySec }) => recoverySec ?? Number.POSITIVE_INFINITY));
    const beyond = own.filter(({ faults }) => faults.length > 0).length;
    const told = own.filter(({ lies }) => lies > 0).length;
    return `| ${liar} | ${own.length} | ${told} | ${slowest.toFixed(1)} s | ${beyond} |`;
  };
  return [
    "| who lies | lies drawn | told | slowest recovery | beyond the bounds |",
    "|---|---|---|---|---|",
    ...[...new Set(runs.map(({ liar }) => liar))].map(of),
    ...runs.filter(({ faults }) => faults.length > 0).map((run) => `- ${lineOf(run)}`),
  ].join("\n");
}

import { parseArgs } from "node:util";
import { startAbusedDevnet } from "./abused-devnet.ts";
import { ATTACKS } from "./attacks/index.ts";
import { FULL_BOUNDS } from "./bounds.ts";
import { runLies } from "./lies/main.ts";
import { Monitor } from "./monitor/monitor.ts";
import { lineOf, reportOf } from "./report.ts";
import { chainFault, chooseAttacks, runAttacks } from "./runner.ts";
import { setSessionNiceness } from "./session-niceness.ts";
import { type AttackRun, faultsOf } from "./verdict.ts";

const CALM_MS = 2_000;
/**
 * Priority of attackers, below the programs, because the measurement is about the programs, not about the processor's
 * distribution.
 */
const NICENESS = 10;
/**
 * Highest priority for the measuring process, because its own wait for the processor must not count as the programs' answer time.
 */
const OWN_NICENESS = -10;
const MAX_RECOVERY_MS = 30_000;
const MIN_ATTACK_MS = 4_000;
const MAX_ATTACK_MS = 20_000;
const SAFE_AGAIN_MS = 30_000;
const INTERRUPTED = 130;

const HELP = `npm run abuse -- [options]
Starts the built programs as a devnet, attacks them while an honest client measures, and prints a table; exit code 1: a bound was broken.
  --minutes=N     how long: each attack once, then some of them at once (default 5)
  --seed=N        order, addresses and what attackers draw (default 1)
  --only=NAME,…   only these attacks, or lies about these fields
  --list          names of the attacks, and what each does
  --lies          endpoints of the verifier that lie, instead of attacks
  --to-sequencer  with --lies: those of the sequencer`;

/** `npm run abuse -- [--lies [--to-sequencer]] [--minutes=N] [--seed=N] [--only=NAME,…] [--list]`. @returns the exit code: 1 when a bound was broken, 130 when it was interrupted */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: "1" },
      only: { type: "string", default: "" },
      lies: { type: "boolean", default: false },
      "to-sequencer": { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  if (values.list) {
    for (const { name, what } of ATTACKS) console.log(`${name.padEnd(24)} ${what}`);
    return 0;
  }
  const [minutes, seed] = [positive("minutes", values.minutes), positive("seed", values.seed)];
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  process.once("SIGINT", stop);
  process.once("SIGTERM", stop);
  const common = { seed, totalMs: minutes * 60_000, signal: stopped.signal, log: (line: string) => console.error(line) };
  const toSequencer = values["to-sequencer"];
  if (toSequencer && !values.lies) throw new Error("--to-sequencer says whom to lie to: it needs --lies");
  const isFine = values.lies
    ? await runLies({ ...common, victim: toSequencer ? "sequencer" : "verifier", only: values.only })
    : await attack({ ...common, only: names(values.only) });
  if (stopped.signal.aborted) return INTERRUPTED;
  return isFine ? 0 : 1;
}

const names = (text: string): string[] => text.split(",").filter((name) => name !== "");

interface AttackOptions {
  readonly seed: number;
  readonly totalMs: number;
  readonly only: readonly string[];
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/** @returns whether every attack was withstood */
async function attack({ seed, totalMs, only, signal, log }: AttackOptions): Promise<boolean> {
  const count = chooseAttacks(only).length;
  setSessionNiceness(OWN_NICENESS);
  const attackMs = Math.min(MAX_ATTACK_MS, Math.max(MIN_ATTACK_MS, totalMs / (2 * count) - 2 * CALM_MS));
  const { devnet, target, close } = await startAbusedDevnet(log);
  const { l2BlockTimeSec } = devnet.info.parameters;
  const monitor = new Monitor(devnet);
  const runs: AttackRun[] = [];
  const faults = (run: AttackRun): string[] => faultsOf(run, FULL_BOUNDS, l2BlockTimeSec);
  try {
    await runAttacks(
      { devnet, monitor, target },
      {
        seed,
        only,
        attackMs,
        calmMs: CALM_MS,
        atOnce: 1,
        niceness: NICENESS,
        maxRecoveryMs: MAX_RECOVERY_MS,
        totalMs,
        bounds: FULL_BOUNDS,
        signal,
        onRun: (run) => {
          runs.push(run);
          log(lineOf(run, faults(run)));
        },
      },
    );
    const wrongChain = signal.aborted ? undefined : await chainFault(devnet, monitor.safeHead, SAFE_AGAIN_MS);
    console.log(reportOf(runs, FULL_BOUNDS, l2BlockTimeSec, monitor.ownLagP99Ms));
    if (wrongChain !== undefined) console.log(`\n${wrongChain}`);
    return wrongChain === undefined && runs.every((run) => faults(run).length === 0);
  } finally {
    await monitor.close();
    await close();
  }
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new Error(`--${name} must be a number above 0, not ${text}`);
  return value;
}

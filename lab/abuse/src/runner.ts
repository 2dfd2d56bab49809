import { setMaxListeners } from "node:events";
import { type Devnet, rpcCall, type SyncStatus } from "@rnode/devnet";
import { createRandom, type Random } from "@rnode/primitives/testing";
import type { Target } from "./attacker/target.ts";
import { type AttackerReport, startAttacker } from "./attacker-process.ts";
import type { Attack } from "./attacks/attack.ts";
import { ATTACKS } from "./attacks/index.ts";
import type { Bounds } from "./bounds.ts";
import type { Monitor } from "./monitor/monitor.ts";
import { pause } from "./pause.ts";
import { type AttackRun, allowedP99Ms } from "./verdict.ts";

/** Where the attacks take place. */
export interface Site {
  readonly devnet: Devnet;
  readonly monitor: Monitor;
  readonly target: Target;
}

export interface RunOptions {
  readonly seed: number;
  /** names of attacks; none: all */
  readonly only: readonly string[];
  /** how long each attack lasts, and the calm before and after it */
  readonly attackMs: number;
  readonly calmMs: number;
  /** how many attacks run at the same time in the first round */
  readonly atOnce: number;
  /** of the attackers' processes */
  readonly niceness: number;
  /** how long the honest client is waited for after an attack */
  readonly maxRecoveryMs: number;
  /** every attack is run once; then groups of them until this time; 0: once */
  readonly totalMs: number;
  readonly onRun: (run: AttackRun) => void;
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
}

/** It is served again when this long each of its requests was answered in time. */
const SERVED_FOR_MS = 500;

/** The honest client's address. Attackers have the ones after it, and every so often the same. */
const HONEST = "127.0.0.1";
const SAME_ADDRESS_ONE_IN = 4;
const OTHER_ADDRESSES = 50;
/** after the first round */
const MOST_AT_ONCE = 4;

/** The attacks chosen by name. @throws {Error} a name that no attack has */
export function chooseAttacks(only: readonly string[]): readonly Attack[] {
  for (const name of only) {
    if (!ATTACKS.some((attack) => attack.name === name)) {
      throw new Error(`no attack is called ${name}; there are ${ATTACKS.map((attack) => attack.name).join(", ")}`);
    }
  }
  return only.length === 0 ? ATTACKS : ATTACKS.filter(({ name }) => only.includes(name));
}

/** Runs each attack once, alone or in groups; then, until the time is over, groups of some drawn by the seed at once. */
export async function runAttacks(site: Site, options: RunOptions): Promise<void> {
  const random = createRandom(options.seed);
  const attacks = shuffled(chooseAttacks(options.only), random);
  const endMs = performance.now() + options.totalMs;
  for (let at = 0; at < attacks.length && !options.signal.aborted; at += options.atOnce) {
    await runGroup(site, attacks.slice(at, at + options.atOnce), random, options);
  }
  while (performance.now() < endMs && !options.signal.aborted) {
    const group = attacks.length === 1 ? attacks : shuffled(attacks, random).slice(0, 2 + random(MOST_AT_ONCE - 1));
    await runGroup(site, group, random, options);
  }
}

async function runGroup(
  { devnet, monitor, target }: Site,
  attacks: readonly Attack[],
  random: Random,
  { attackMs, calmMs, niceness, maxRecoveryMs, bounds, signal, onRun }: RunOptions,
): Promise<void> {
  const from = random(SAME_ADDRESS_ONE_IN) === 0 ? HONEST : `127.0.0.${2 + random(OTHER_ADDRESSES)}`;
  const calmFromMs = performance.now();
  await pause(calmMs, signal);
  const calmToMs = performance.now();
  setMaxListeners(attacks.length + 10, signal); // each attacker has one
  const processes = attacks.map(({ name }) =>
    startAttacker({ attack: name, target, from, seed: random(2 ** 31), niceness, durationMs: attackMs }, signal),
  );
  await Promise.all(processes.map(({ ready }) => ready));
  const attackFromMs = performance.now();
  const attackers = await Promise.all(processes.map((attacker) => attacker.begin()));
  const attackToMs = performance.now();
  const before = monitor.between(calmFromMs, calmToMs);
  const during = monitor.between(attackFromMs, attackToMs);
  const mustRestart = attacks.some(({ afterwards }) => afterwards === "restart-engine");
  const restartSec = mustRestart ? await restartEngine(devnet, monitor) : undefined;
  const recoverySec = await untilServed(monitor, performance.now(), allowedP99Ms(before, bounds), maxRecoveryMs, signal);
  // The next attack finds a client that serves.
  if (recoverySec === undefined && !signal.aborted) await restartEngine(devnet, monitor);
  await pause(calmMs, signal);
  const after = monitor.between(attackToMs, performance.now());
  const attack = attacks.map(({ name }) => name).join(" + ");
  // Repeated, because late answers to requests during the attack have arrived by now, unless a restart lost them.
  const whole = mustRestart || recoverySec === undefined ? during : monitor.between(attackFromMs, attackToMs);
  // an interrupted run proves nothing
  if (!signal.aborted)
    onRun({ attack, from, before, during: whole, after, recoverySec, attacker: together(attackers), restartSec });
}

function together(reports: readonly AttackerReport[]): AttackerReport {
  const counts: Record<string, number> = {};
  for (const report of reports) {
    for (const [what, count] of Object.entries(report.counts)) counts[what] = (counts[what] ?? 0) + count;
  }
  const failures = reports.flatMap(({ failure }) => failure ?? []);
  return {
    counts,
    breaches: reports.flatMap(({ breaches }) => breaches),
    failure: failures.length === 0 ? undefined : failures.join("; "),
  };
}

/** @returns seconds from `fromMs` until the honest client's requests are answered as before; `undefined`: not within the limit */
async function untilServed(
  monitor: Monitor,
  fromMs: number,
  p99Ms: number,
  maxMs: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  while (performance.now() - fromMs < maxMs && !signal.aborted) {
    await pause(SERVED_FOR_MS, signal);
    const nowMs = performance.now();
    const { honest } = monitor.between(nowMs - SERVED_FOR_MS, nowMs);
    if (honest.requests > 0 && honest.failed === 0 && honest.p99Ms <= p99Ms)
      return Math.max(0, nowMs - SERVED_FOR_MS - fromMs) / 1000;
  }
  return undefined;
}

/** Kills the sequencer's execution client and starts it again. @returns seconds until it answered */
async function restartEngine({ programs }: Devnet, { processes }: Monitor): Promise<number> {
  const isDone = processes.expectRestart("sequencerEngine");
  try {
    await programs.sequencerEngine.kill("SIGKILL");
    const fromMs = performance.now();
    await programs.sequencerEngine.start();
    return (performance.now() - fromMs) / 1000;
  } finally {
    isDone();
  }
}

/** Whether the verifier's safe chain equals the sequencer's, and has advanced since the attacks. `undefined`: no error. */
export async function chainFault({ info }: Devnet, safeBefore: number, timeoutMs: number): Promise<string | undefined> {
  const { sequencer, verifier } = info.endpoints;
  const deadlineMs = Date.now() + timeoutMs;
  for (;;) {
    const { safe_l2: safe } = await rpcCall<SyncStatus>(verifier.node, "rnode_syncStatus");
    if (safe.number > safeBefore) {
      const block = await rpcCall<{ hash: string }>(sequencer.http, "eth_getBlockByNumber", [
        `0x${safe.number.toString(16)}`,
        false,
      ]);
      return block.hash === safe.hash
        ? undefined
        : `safe block ${safe.number} is ${safe.hash} on the verifier, ${block.hash} on the sequencer`;
    }
    if (Date.now() > deadlineMs) return `the verifier's safe head is still ${safe.number} ${timeoutMs / 1000} s after the attacks`;
    await pause(500);
  }
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index--) {
    const other = random(index + 1);
    [result[index], result[other]] = [result[other]!, result[index]!];
  }
  return result;
}

import { type Devnet, rpcCall, type SyncStatus } from "@rnode/devnet";
import type { Target } from "./attacker/target.ts";
import { runAttacker } from "./attacker-process.ts";
import type { Attack } from "./attacks/attack.ts";
import { ATTACKS } from "./attacks/index.ts";
import type { Bounds } from "./bounds.ts";
import type { Monitor } from "./monitor/monitor.ts";
import { createRandom, shuffled } from "./random.ts";
import { type AttackRun, allowedP99Ms } from "./verdict.ts";

export interface RunOptions {
  readonly seed: number;
  /** names of attacks; none: all */
  readonly only: readonly string[];
  /** how long each attack lasts, and the calm before and after it */
  readonly attackMs: number;
  readonly calmMs: number;
  /** every attack is run once; then they go on, in another order, until this time; 0: once */
  readonly totalMs: number;
  readonly onRun: (run: AttackRun) => void;
  readonly bounds: Bounds;
  readonly signal: AbortSignal;
}

/** How long the honest client is waited for after an attack. */
const MAX_RECOVERY_MS = 30_000;
/** It is served again when this long each of its requests was answered in time. */
const SERVED_FOR_MS = 500;

/** The honest client's address. Attackers have the ones after it, and every so often the same. */
const HONEST = "127.0.0.1";
const SAME_ADDRESS_EVERY = 4;
const OTHER_ADDRESSES = 50;

/** The attacks chosen by name. @throws {Error} a name that no attack has */
export function chooseAttacks(only: readonly string[]): readonly Attack[] {
  for (const name of only) {
    if (!ATTACKS.some((attack) => attack.name === name)) {
      throw new Error(`no attack is called ${name}; there are ${ATTACKS.map((attack) => attack.name).join(", ")}`);
    }
  }
  return only.length === 0 ? ATTACKS : ATTACKS.filter(({ name }) => only.includes(name));
}

/** Runs one attack after the other against the devnet. */
export async function runAttacks(devnet: Devnet, monitor: Monitor, target: Target, options: RunOptions): Promise<void> {
  const random = createRandom(options.seed);
  const attacks = chooseAttacks(options.only);
  const endMs = performance.now() + options.totalMs;
  let number = 0;
  do {
    for (const attack of shuffled(attacks, random)) {
      const isSame = ++number % SAME_ADDRESS_EVERY === 0;
      const from = isSame ? HONEST : `127.0.0.${2 + random(OTHER_ADDRESSES)}`;
      options.onRun(await runOne(devnet, monitor, target, attack, from, random(2 ** 31), options));
      const isEnough = performance.now() > endMs && number >= attacks.length;
      if (isEnough || options.signal.aborted) return;
    }
  } while (performance.now() < endMs);
}

async function runOne(
  devnet: Devnet,
  monitor: Monitor,
  target: Target,
  attack: Attack,
  from: string,
  seed: number,
  { attackMs, calmMs, bounds, signal }: RunOptions,
): Promise<AttackRun> {
  const calmFromMs = performance.now();
  await pause(calmMs, signal);
  const attackFromMs = performance.now();
  const attacker = await runAttacker({ attack: attack.name, target, from, seed, durationMs: attackMs });
  const attackToMs = performance.now();
  const restartSec = attack.afterwards === "restart-engine" ? await restartEngine(devnet, monitor) : undefined;
  const before = monitor.between(calmFromMs, attackFromMs);
  const recoverySec = await untilServed(monitor, performance.now(), allowedP99Ms(before, bounds), signal);
  // The next attack finds a client that serves.
  if (recoverySec === undefined && !signal.aborted) await restartEngine(devnet, monitor);
  await pause(calmMs, signal);
  return {
    attack: attack.name,
    from,
    before,
    during: monitor.between(attackFromMs, attackToMs),
    after: monitor.between(attackToMs, performance.now()),
    recoverySec,
    attacker,
    restartSec,
  };
}

/** @returns seconds from `fromMs` until the honest client is served as before; undefined: not within the limit */
async function untilServed(monitor: Monitor, fromMs: number, p99Ms: number, signal: AbortSignal): Promise<number | undefined> {
  while (performance.now() - fromMs < MAX_RECOVERY_MS && !signal.aborted) {
    await pause(SERVED_FOR_MS, signal);
    const nowMs = performance.now();
    const { honest } = monitor.between(nowMs - SERVED_FOR_MS, nowMs);
    if (honest.requests > 0 && honest.failed === 0 && honest.p99Ms <= p99Ms) return (nowMs - SERVED_FOR_MS - fromMs) / 1000;
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

/** Whether the verifier's safe chain is the sequencer's, and has moved on since the attacks. Undefined: all is well. */
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

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    function done(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
  });
}

// The process of one attack: `attacker-main.js`, its orders as the only argument. Started by `attacker-process.ts`.
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";
import { createRandom } from "@rnode/primitives/testing";
import { Attacker } from "./attacker/attacker.ts";
import type { AttackerReport, MessageFromAttacker, Orders } from "./attacker-process.ts";
import { ATTACKS } from "./attacks/index.ts";

const orders = JSON.parse(process.argv[2] ?? "{}") as Orders;
const attack = ATTACKS.find(({ name }) => name === orders.attack);
if (!attack) throw new Error(`no attack is called ${orders.attack}`);
giveWay(orders.niceness);
const over = new AbortController();
const breaches = new Set<string>();
const attacker = new Attacker({
  signal: over.signal,
  target: orders.target,
  from: orders.from,
  maxConnections: attack.bounds.connections,
  random: createRandom(orders.seed),
  onBreach: (what) => breaches.add(what),
});
const stop = (): void => over.abort();
process.on("disconnect", () => process.exit(1));

let failure: string | undefined;
try {
  const prepared = (await attack.prepare?.(attacker)) ?? [];
  const begins = once(process, "message");
  process.send?.("ready" satisfies MessageFromAttacker);
  await begins;
  setTimeout(stop, orders.durationMs).unref();
  await attack.run(orders.target, attacker, prepared);
} catch (error) {
  failure = String(error);
}
stop();
const report: AttackerReport = { counts: Object.fromEntries(attacker.counts), breaches: [...breaches], failure };
process.send?.(report satisfies MessageFromAttacker, () => process.exit(0));

/**
 * Linux shares the processor among sessions first (sched(7), autogroups), and each program of the devnet has a session of its own: a process's niceness says
 * nothing to them, its session's does.
 */
function giveWay(niceness: number): void {
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness));
  try {
    writeFileSync("/proc/self/autogroup", String(niceness));
  } catch {
    // not Linux, or without autogroups: niceness is enough
  }
}

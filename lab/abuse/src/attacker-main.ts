// The process of one attack: `attacker-main.js`, its orders as the only argument. Started by `attacker-process.ts`.
import { once } from "node:events";
import { constants, getPriority, setPriority } from "node:os";
import { createRandom } from "@rnode/primitives/testing";
import { Attacker } from "./attacker/attacker.ts";
import type { AttackerReport, MessageFromAttacker, Orders } from "./attacker-process.ts";
import { ATTACKS } from "./attacks/index.ts";
import { setSessionNiceness } from "./session-niceness.ts";

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

function giveWay(niceness: number): void {
  setPriority(Math.min(constants.priority.PRIORITY_LOW, getPriority() + niceness));
  setSessionNiceness(niceness);
}

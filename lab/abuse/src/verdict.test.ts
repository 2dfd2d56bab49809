import { expect, it } from "vitest";
import { FULL_BOUNDS } from "./bounds.ts";
import type { Observation } from "./monitor/monitor.ts";
import { type AttackRun, faultsOf } from "./verdict.ts";

const fine: Observation = {
  seconds: 10,
  honest: { requests: 500, failed: 0, failures: [], p50Ms: 1, p99Ms: 5 },
  node: { requests: 100, failed: 0, failures: [], p50Ms: 1, p99Ms: 5 },
  blocks: 5,
  longestBlockGapSec: 2.1,
  safeBlocks: 4,
  longestSafeStallSec: 5,
  peakMib: { sequencerEngine: 300, verifierEngine: 300, sequencerNode: 100, verifierNode: 100, batcher: 100 },
  deaths: [],
};
const run: AttackRun = {
  attack: "some",
  from: "127.0.0.2",
  before: fine,
  during: fine,
  after: fine,
  recoverySec: 0,
  attacker: { counts: {}, breaches: [], failure: undefined },
};
const during = (change: Partial<Observation>): AttackRun => ({ ...run, during: { ...fine, ...change } });

it("finds no fault where every bound holds", () => {
  expect(faultsOf(run, FULL_BOUNDS, 2)).toEqual([]);
});

it.each<readonly [string, AttackRun, RegExp]>([
  ["slow answers", during({ honest: { ...fine.honest, p99Ms: 56 } }), /^cheap requests: p99 56 ms, bound 55$/],
  ["failed requests", during({ honest: { ...fine.honest, failed: 1, failures: ["reset"] } }), /1 of 500 failed \(reset\)/],
  ["nobody answering", during({ honest: { ...fine.honest, requests: 0 } }), /0 of 0 failed/],
  ["a slow rollup node", during({ node: { ...fine.node, p99Ms: 500 } }), /^sync status/],
  ["blocks that do not come", during({ longestBlockGapSec: 6 }), /6\.0 s without a block/],
  ["a safe head that stands still", during({ longestSafeStallSec: 90 }), /safe stood still for 90 s/],
  ["memory", during({ peakMib: { ...fine.peakMib, sequencerNode: 5000 } }), /sequencerNode: 5000 MiB/],
  ["a death", during({ deaths: [{ atMs: 0, what: "rengine" }] }), /died: rengine/],
  ["no recovery", { ...run, recoverySec: undefined }, /was not served again/],
  ["a slow recovery", { ...run, recoverySec: 9 }, /served again after 9\.0 s/],
  ["what must be refused", { ...run, attacker: { ...run.attacker, breaches: ["debug_setHead"] } }, /allowed: debug_setHead/],
  ["an attack that did not happen", { ...run, attacker: { ...run.attacker, failure: "no" } }, /the attack itself failed/],
])("finds %s", (_, given, fault) => {
  const faults = faultsOf(given, FULL_BOUNDS, 2);
  expect(faults).toHaveLength(1);
  expect(faults[0]).toMatch(fault);
});

import { expect, it } from "vitest";
import { hasHaproxy } from "../fleet/balancer.ts";
import { reportOf, runFleet } from "../fleet/run-fleet.ts";

const CAN_RUN = hasHaproxy();
if (!CAN_RUN) console.log("the fleet was not run: haproxy is not installed");

it.skipIf(!CAN_RUN)(
  "a fleet fails no request, and contradicts none of its answers, while nodes leave and come",
  { tags: "long", timeout: 420_000 },
  async () => {
    const run = await runFleet({
      ...{ light: 1, httpClients: 4, wsClients: 2, intervalMs: 100 },
      ...{ calmMs: 1_000, holdMs: 5_000, behindBlocks: 30, only: [], figures: [], log: () => {} },
    });
    console.log(reportOf(run));
    expect(run.scenarios.flatMap(({ faults }) => faults)).toEqual([]);
    expect(run.scenarios.every(({ during }) => during.requests > 0)).toBe(true);
    expect(run.counts.transactions).toBeGreaterThan(0);
    expect(run.counts.heads).toBeGreaterThan(0);
  },
);

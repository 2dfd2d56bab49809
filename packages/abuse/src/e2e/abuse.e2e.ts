import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AbusedDevnet, startAbusedDevnet } from "../abused-devnet.ts";
import { ATTACKS } from "../attacks/index.ts";
import { SHORT_BOUNDS } from "../bounds.ts";
import { Monitor } from "../monitor/monitor.ts";
import { chainFault, runAttacks } from "../runner.ts";
import { type AttackRun, faultsOf } from "../verdict.ts";

/** Attacks run several at once here, so that all of them take half a minute. */
const AT_ONCE = 6;
const ATTACK_MS = 1_500;
const CALM_MS = 100;
const SAFE_AGAIN_MS = 60_000;

describe("all attacks, several at once", () => {
  let site: AbusedDevnet;
  let monitor: Monitor;
  const runs: AttackRun[] = [];
  beforeAll(async () => {
    site = await startAbusedDevnet(() => {});
    monitor = new Monitor(site.devnet);
    await runAttacks(
      { ...site, monitor },
      {
        seed: 1,
        only: [],
        attackMs: ATTACK_MS,
        calmMs: CALM_MS,
        atOnce: AT_ONCE,
        totalMs: 0,
        bounds: SHORT_BOUNDS,
        signal: new AbortController().signal,
        onRun: (run) => runs.push(run),
      },
    );
  });
  afterAll(async () => {
    await monitor?.close();
    await site?.close();
  });

  it("are survived: no process dies, nothing is allowed that must be refused, and blocks are made", () => {
    expect(runs.flatMap(({ attack }) => attack.split(" + ")).sort()).toEqual(ATTACKS.map(({ name }) => name).sort());
    const faults = runs.map((run) => [run.attack, faultsOf(run, SHORT_BOUNDS, site.devnet.info.parameters.l2BlockTimeSec)]);
    expect(faults.filter(([, found]) => found!.length > 0)).toEqual([]);
  });

  it("leave the verifier with the sequencer's chain, and its safe head moves on", async () => {
    expect(await chainFault(site.devnet, monitor.safeHead, SAFE_AGAIN_MS)).toBeUndefined();
  });
});

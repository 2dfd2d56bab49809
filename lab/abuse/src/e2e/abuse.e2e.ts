// @module-tag long
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AbusedDevnet, startAbusedDevnet } from "../abused-devnet.ts";
import { ATTACKS } from "../attacks/index.ts";
import { LIE_BOUNDS, SHORT_BOUNDS } from "../bounds.ts";
import { type LieRun, runCampaign } from "../lies/campaign.ts";
import { createLiars, type Liars } from "../lies/liars.ts";
import { Monitor } from "../monitor/monitor.ts";
import { chainFault, runAttacks } from "../runner.ts";
import { type AttackRun, faultsOf } from "../verdict.ts";

/** Number of parallel attacks, so that all of them take seconds. */
const ATTACKS_AT_ONCE = 12;
const ATTACK_MS = 2_000;
const CALM_MS = 100;
const MAX_RECOVERY_MS = 20_000;
const SAFE_AGAIN_MS = 60_000;
const LIES_MS = 10_000;
const signal = new AbortController().signal;

describe("the built programs", () => {
  let liars: Liars;
  let site: AbusedDevnet;
  let monitor: Monitor;
  beforeAll(async () => {
    liars = await createLiars();
    site = await startAbusedDevnet(() => {}, liars.changeArgs);
    monitor = new Monitor(site.devnet);
  });
  afterAll(async () => {
    await monitor?.close();
    await site?.close();
    await liars?.close();
  });

  it("survive all attacks: no process dies, nothing is allowed that must be refused, and blocks are made", async () => {
    const only = ATTACKS.map(({ name }) => name);
    const runs: AttackRun[] = [];
    await runAttacks(
      { ...site, monitor },
      {
        seed: 1,
        only,
        attackMs: ATTACK_MS,
        calmMs: CALM_MS,
        atOnce: ATTACKS_AT_ONCE,
        niceness: 0,
        maxRecoveryMs: MAX_RECOVERY_MS,
        totalMs: 0,
        bounds: SHORT_BOUNDS,
        signal,
        onRun: (run) => runs.push(run),
      },
    );
    expect(runs.flatMap(({ attack }) => attack.split(" + ")).sort()).toEqual([...only].sort());
    const { l2BlockTimeSec } = site.devnet.info.parameters;
    const faults = runs.map((run) => ({ attack: run.attack, faults: faultsOf(run, SHORT_BOUNDS, l2BlockTimeSec) }));
    expect(faults.filter((found) => found.faults.length > 0)).toEqual([]);
    // one safe chain, which moves on
    expect(await chainFault(site.devnet, monitor.safeHead, SAFE_AGAIN_MS)).toBeUndefined();
  });

  it("derive that chain although they are lied to, and are well again soon after", async () => {
    const runs: LieRun[] = [];
    await runCampaign(site.devnet, liars.liars, {
      victim: "verifier",
      seed: 1,
      totalMs: LIES_MS,
      only: "",
      lieMs: 1_000,
      // the machine may be busy with other tests
      recoveryMs: 4 * LIE_BOUNDS.recoverySec * 1000,
      signal,
      onRun: (run) => runs.push(run),
    });
    expect(runs.length).toBeGreaterThan(0);
    expect(runs.filter(({ faults }) => faults.length > 0)).toEqual([]);
  });
});

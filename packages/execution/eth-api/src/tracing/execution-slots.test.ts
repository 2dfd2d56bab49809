import type { EvmEngine } from "@rnode/evm";
import { describe, expect, it } from "vitest";
import { RequestWork, UNLIMITED_WORK } from "../backend/work.ts";
import { ExecutionSlots, type SlotLimits } from "./execution-slots.ts";

const LIMITS: SlotLimits = { maxRunning: 2, timeoutMs: 60_000, maxBytes: 1000 };

/** Engines that do nothing but remember whether they were asked to stop. */
function setUp(limits: Partial<SlotLimits> = {}) {
  let nowMs = 0;
  const engines: { interrupt: (() => void) | undefined; gasBurned: bigint }[] = [];
  const newEngine = (): EvmEngine => {
    const engine = {
      interrupt: undefined as (() => void) | undefined,
      gasBurned: 0n,
      setInterrupt: (check: (() => void) | undefined) => void (engine.interrupt = check),
      setTracer: () => {},
    };
    engines.push(engine);
    return engine as unknown as EvmEngine;
  };
  const slots = new ExecutionSlots({ ...LIMITS, ...limits }, newEngine, () => nowMs);
  return { slots, engines, pass: (ms: number) => void (nowMs += ms) };
}

function gate() {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}

describe("execution slots", () => {
  it("run so many at once, the others in the order they came, on as many engines", async () => {
    const { slots, engines } = setUp();
    const gates = [gate(), gate(), gate()];
    const started: number[] = [];
    const runs = gates.map(({ passed }, index) =>
      slots.run(UNLIMITED_WORK, async () => {
        started.push(index);
        await passed;
        return index;
      }),
    );
    await Promise.resolve();
    expect(started).toEqual([0, 1]);
    gates[1]!.open();
    expect(await runs[1]).toBe(1);
    gates[0]!.open();
    gates[2]!.open();
    expect(await Promise.all(runs)).toEqual([0, 1, 2]);
    expect(started).toEqual([0, 1, 2]);
    expect(engines).toHaveLength(2);
    expect(engines.map(({ interrupt }) => interrupt)).toEqual([undefined, undefined]);
  });

  it("give an engine back when the work fails", async () => {
    const { slots, engines } = setUp({ maxRunning: 1 });
    for (let times = 0; times < 3; times++) {
      await expect(slots.run(UNLIMITED_WORK, () => Promise.reject(new Error("fails")))).rejects.toThrow("fails");
    }
    expect(await slots.run(UNLIMITED_WORK, () => "works")).toBe("works");
    expect(engines).toHaveLength(1);
  });

  it("end work that takes too long: between transactions and in one", async () => {
    const { slots, engines, pass } = setUp({ timeoutMs: 1500 });
    const late = { code: -32000, message: "tracing took longer than 1.5s (--rpc.tracetimeout)" };
    await expect(
      slots.run(UNLIMITED_WORK, async (slot) => {
        pass(1000);
        await slot.pause();
        expect(engines[0]!.interrupt).not.toThrow();
        pass(501);
        expect(engines[0]!.interrupt).toThrow(late.message);
        await slot.pause();
      }),
    ).rejects.toMatchObject(late);
  });

  it("count the gas that an engine burns for each, and end work that has burned all it may", async () => {
    const { slots, engines } = setUp({ maxRunning: 1 });
    const works = [undefined, 5000n].map((maxGas) => new RequestWork(() => {}, maxGas));
    await slots.run(works[0]!, async (slot) => {
      engines[0]!.gasBurned += 3000n;
      engines[0]!.interrupt!();
      expect(works[0]!.gas).toBe(3000n);
      engines[0]!.gasBurned += 4000n;
      await slot.pause();
      engines[0]!.gasBurned += 1n;
    });
    const tooMuch = slots.run(works[1]!, async (slot) => {
      engines[0]!.gasBurned += 5000n;
      await slot.pause();
      engines[0]!.gasBurned += 1n;
      await slot.pause();
    });
    await expect(tooMuch).rejects.toMatchObject({ code: -32005, message: expect.stringContaining("--rpc.max-gas-per-request") });
    const fails = slots.run(works[1]!, () => {
      engines[0]!.gasBurned += 10n;
      throw new Error("fails");
    });
    await expect(fails).rejects.toThrow("fails");
    expect(works.map(({ gas }) => gas)).toEqual([7001n, 5011n]);
  });

  it("give way after a while", async () => {
    const { slots, pass } = setUp();
    const order: string[] = [];
    await slots.run(UNLIMITED_WORK, async (slot) => {
      setImmediate(() => order.push("another"));
      await slot.pause();
      order.push("first");
      pass(25);
      await slot.pause();
      order.push("second");
    });
    expect(order).toEqual(["first", "another", "second"]);
  });

  it("refuse what would wait too long, naming limit and option", async () => {
    const { slots } = setUp({ maxRunning: 1, timeoutMs: 20 });
    const { passed, open } = gate();
    const first = slots.run(UNLIMITED_WORK, () => passed);
    const waiting = Array.from({ length: 64 }, () => slots.run(UNLIMITED_WORK, () => "done"));
    await expect(slots.run(UNLIMITED_WORK, () => "done")).rejects.toMatchObject({
      code: -32005,
      message: "too many tracing requests: 1 run (--rpc.max-tracing-requests) and 64 wait",
    });
    // The test's clock does not advance, but the timer of the waiting requests runs.
    const outcomes = await Promise.allSettled(waiting);
    expect(new Set(outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.message : "done")))).toEqual(
      new Set(["tracing took longer than 20ms (--rpc.tracetimeout)"]),
    );
    open();
    await first;
    expect(await slots.run(UNLIMITED_WORK, () => "done")).toBe("done");
  });
});

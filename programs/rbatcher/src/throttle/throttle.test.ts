import { RpcError } from "@rnode/jsonrpc";
import { type Logger, noMetrics, silentLogger } from "@rnode/observe";
import { SimClock } from "@rnode/program/testing";
import { daBytes } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { Throttle, type ThrottleOptions } from "./throttle.ts";
import { type DaSizes, ThrottleController, type ThrottleControllerType } from "./throttle-controller.ts";
import { createThrottleMetrics } from "./throttle-metrics.ts";

const PID = { kp: 0.5, ki: 0.1, kd: 0, integralMax: 2, outputMax: 0.9, sampleTimeMs: 2000 };
const OPTIONS: ThrottleOptions = {
  controllerType: "linear",
  lowerThreshold: daBytes(1000),
  upperThreshold: daBytes(5000),
  txSizeLowerLimit: daBytes(100),
  txSizeUpperLimit: daBytes(900),
  blockSizeLowerLimit: daBytes(2000),
  blockSizeUpperLimit: daBytes(10_000),
  intervalMs: 2000,
  pid: PID,
};

describe("ThrottleController", () => {
  it.each<[ThrottleControllerType, number, Record<keyof DaSizes, number>]>([
    ["step", 1000, { intensity: 0, maxTxSize: 0, maxBlockSize: 10_000 }],
    ["step", 1001, { intensity: 1, maxTxSize: 100, maxBlockSize: 2000 }],
    ["linear", 1000, { intensity: 0, maxTxSize: 0, maxBlockSize: 10_000 }],
    ["linear", 3000, { intensity: 0.5, maxTxSize: 500, maxBlockSize: 6000 }],
    ["linear", 90_000, { intensity: 1, maxTxSize: 100, maxBlockSize: 2000 }],
    ["quadratic", 3000, { intensity: 0.25, maxTxSize: 700, maxBlockSize: 8000 }],
    ["quadratic", 5000, { intensity: 1, maxTxSize: 100, maxBlockSize: 2000 }],
    ["pid", 2000, { intensity: 0.5, maxTxSize: 500, maxBlockSize: 6000 }],
  ])("%s at %i bytes", (type, bytes, expected) => {
    expect(new ThrottleController(type, OPTIONS, PID).update(daBytes(bytes), 0)).toEqual(expected);
  });

  it("sums the excess with pid, up to a bound, and forgets it below the threshold", () => {
    const controller = new ThrottleController("pid", OPTIONS, PID);
    const at = (bytes: number, seconds: number): number => controller.update(daBytes(bytes), seconds * 1000).intensity;
    expect(at(1500, 0)).toBeCloseTo(0.25);
    expect(at(1500, 1)).toBeCloseTo(0.25); // within the sample time
    expect(at(1500, 2)).toBeCloseTo(0.25 + 0.1);
    expect(at(1500, 60)).toBeCloseTo(0.25 + 0.2);
    expect(at(9000, 62)).toBe(0.9);
    expect(at(1000, 64)).toBe(0);
    expect(at(1500, 66)).toBeCloseTo(0.25 + 0.1);
  });

  it("has no limits where an option says 0", () => {
    const none = { ...OPTIONS, txSizeLowerLimit: daBytes(0), txSizeUpperLimit: daBytes(0), blockSizeLowerLimit: daBytes(0) };
    expect(new ThrottleController("step", none, PID).update(daBytes(2000), 0)).toEqual({
      intensity: 1,
      maxTxSize: 0,
      maxBlockSize: 10_000,
    });
  });
});

function setUp(answer: () => Promise<unknown> = () => Promise.resolve(true)) {
  const clock = new SimClock();
  const calls: unknown[][] = [];
  const errors: (readonly [string, unknown])[] = [];
  const state = { bytes: 0, answer };
  const log: Logger = Object.assign(Object.create(silentLogger) as Logger, {
    error: (text: string, fields: unknown) => void errors.push([text, fields]),
    info: () => {},
    warn: () => {},
  });
  const throttle = new Throttle(OPTIONS, {
    endpoints: [
      {
        name: "builder",
        call: (method, params) => {
          calls.push([method, ...params]);
          return state.answer();
        },
      },
    ],
    load: () => daBytes(state.bytes),
    clock,
    log,
    metrics: createThrottleMetrics(noMetrics),
  });
  return { clock, calls, errors, state, throttle };
}

describe("Throttle", () => {
  it("tells builders the limits when they change, and repeats them", async () => {
    const { clock, calls, state, throttle } = setUp();
    const stop = new AbortController();
    const done = throttle.run(stop.signal);
    await clock.advance(10_000);
    expect(calls).toEqual([["miner_setMaxDASize", "0x0", "0x2710"]]);
    state.bytes = 3000;
    await clock.advance(4000);
    expect(calls.slice(1)).toEqual([["miner_setMaxDASize", "0x1f4", "0x1770"]]);
    expect(throttle.info()).toEqual({
      type: "linear",
      lower_threshold: 1000,
      upper_threshold: 5000,
      current_load: 3000,
      intensity: 0.5,
      max_tx_size: 500,
      max_block_size: 6000,
    });
    await clock.advance(32_000);
    expect(calls).toHaveLength(3);
    stop.abort();
    await done;
  });

  it("says once that a builder lacks the method, and goes on", async () => {
    const { clock, calls, errors, state, throttle } = setUp(() => Promise.reject(new RpcError(-32601, "no such method")));
    for (let i = 0; i < 5; i++) {
      await throttle.step();
      await clock.advance(2000);
    }
    expect(errors).toEqual([
      [
        expect.stringMatching(/no miner_setMaxDASize/),
        { endpoint: "builder", remedy: expect.stringMatching(/--throttle.unsafe-da-bytes-lower-threshold=0/) },
      ],
    ]);
    expect(calls).toHaveLength(1);
    state.bytes = 2000;
    await throttle.step();
    expect(calls).toHaveLength(2);
  });

  it("asks a builder that is away again each time", async () => {
    const { calls, state, throttle } = setUp(() => Promise.reject(new Error("away")));
    await throttle.step();
    await throttle.step();
    state.answer = () => Promise.resolve(true);
    await throttle.step();
    await throttle.step();
    expect(calls).toHaveLength(3);
  });

  it("takes another controller at run time", async () => {
    const { state, throttle } = setUp();
    state.bytes = 1500;
    throttle.setController("step");
    await throttle.step();
    expect(throttle.info()).toMatchObject({ type: "step", intensity: 1 });
    throttle.reset();
    expect(throttle.isThrottling).toBe(false);
  });
});

import { createMetrics, noMetrics } from "@rnode/observe";
import { expect, it } from "vitest";
import { rpcMetricsOf } from "./rpc-metrics.ts";

it("no metrics are kept for a program that has them switched off, whatever it adds to the factory", () => {
  expect(rpcMetricsOf(undefined)).toBeUndefined();
  expect(rpcMetricsOf(noMetrics)).toBeUndefined();
  expect(rpcMetricsOf({ ...noMetrics })).toBeUndefined();
  const metrics = createMetrics({ prefix: "test_" });
  expect(rpcMetricsOf(metrics)).toBeDefined();
  expect(rpcMetricsOf(metrics)).toBe(rpcMetricsOf(metrics));
});

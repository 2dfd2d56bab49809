import { createMetrics } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { startMetricsServer } from "./metrics-server.ts";

describe("the metrics server", () => {
  it("serves GET /metrics and GET /healthz, and does not start on a taken port", async () => {
    let isHealthy = true;
    const health = () => ({ isHealthy, body: { version: "v1" } });
    const metrics = createMetrics({ prefix: "y_" });
    metrics.counter("plain_total", "Plain.");
    const server = await startMetricsServer({ expose: () => metrics.expose(), health }, { addr: "127.0.0.1", port: 0 });
    try {
      const response = await fetch(`http://127.0.0.1:${server.port}/metrics`);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
      expect(await response.text()).toContain("y_plain_total 0");
      expect((await fetch(`http://127.0.0.1:${server.port}/other`)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
      isHealthy = false;
      expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(503);
      await expect(
        startMetricsServer({ expose: () => metrics.expose(), health }, { addr: "127.0.0.1", port: server.port }),
      ).rejects.toThrow("EADDRINUSE");
    } finally {
      await server.close();
    }
  });

  it("reads the metrics once for all who ask at the same time", async () => {
    const metrics = createMetrics({ prefix: "y_" });
    let reads = 0;
    metrics.gaugeOf("reads", "Reads.", () => ++reads);
    const health = () => ({ isHealthy: true, body: { version: "v1" } });
    const server = await startMetricsServer({ expose: () => metrics.expose(), health }, { addr: "127.0.0.1", port: 0 });
    try {
      const asked = Array.from({ length: 10 }, () => fetch(`http://127.0.0.1:${server.port}/metrics`));
      const texts = await Promise.all((await Promise.all(asked)).map((response) => response.text()));
      // a busy machine may take longer than the metrics are kept
      expect(reads).toBeLessThan(10);
      expect(texts[0]).toContain("y_reads 1");
      await expect
        .poll(async () => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text())
        .toContain(`y_reads ${reads + 1}`);
    } finally {
      await server.close();
    }
  });
});

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
});

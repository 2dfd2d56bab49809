import { once } from "node:events";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { createMetrics } from "@rnode/observe";
import { describe, expect, it } from "vitest";
import { startMetricsServer } from "./metrics-server.ts";
import { Readiness } from "./readiness.ts";

describe("the metrics server", () => {
  it("serves GET /metrics and GET /healthz, and does not start on a taken port", async () => {
    let isHealthy = true;
    const health = () => ({ isHealthy, body: { version: "v1" } });
    const readiness = new Readiness("v1", { unixMs: () => 1_031_000 });
    readiness.expect(() => ["it is starting"]);
    readiness.expect(() => []);
    const metrics = createMetrics({ prefix: "y_" });
    metrics.counter("plain_total", "Plain.");
    const server = await startMetricsServer(
      { expose: () => metrics.expose(), health, ready: (query) => readiness.healthWithin(query) },
      { addr: "127.0.0.1", port: 0 },
    );
    try {
      const response = await fetch(`http://127.0.0.1:${server.port}/metrics`);
      expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
      expect(await response.text()).toContain("y_plain_total 0");
      expect((await fetch(`http://127.0.0.1:${server.port}/other`)).status).toBe(404);
      expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(200);
      const notReady = await fetch(`http://127.0.0.1:${server.port}/readyz`);
      expect([notReady.status, await notReady.json()]).toEqual([503, { version: "v1", reasons: ["it is starting"] }]);
      const statusFor = async (query: string) => (await fetch(`http://127.0.0.1:${server.port}/readyz?${query}`)).status;
      expect(await statusFor("max-age=30")).toBe(400); // a program without a head
      readiness.followHead(() => ({ number: 7, timestampSec: 1_000, target: 9 }));
      expect(await statusFor("max-lag=3")).toBe(400);
      const limited = await fetch(`http://127.0.0.1:${server.port}/readyz?max-lag-blocks=1&max-age=30`);
      expect([limited.status, await limited.json()]).toEqual([
        503,
        {
          version: "v1",
          reasons: [
            "it is starting",
            "its head 7 is 2 blocks behind block 9, more than 1",
            "its head 7 is 31 s old, more than 30 s",
          ],
        },
      ]);
      isHealthy = false;
      expect((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status).toBe(503);
      await expect(
        startMetricsServer({ expose: () => metrics.expose(), health, ready: health }, { addr: "127.0.0.1", port: server.port }),
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
    const server = await startMetricsServer(
      { expose: () => metrics.expose(), health, ready: health },
      { addr: "127.0.0.1", port: 0 },
    );
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

  it("serves others, and newcomers, when one client holds connections that say nothing", async () => {
    const metrics = createMetrics({ prefix: "y_" });
    const health = () => ({ isHealthy: true, body: { version: "v1" } });
    const server = await startMetricsServer(
      { expose: () => metrics.expose(), health, ready: health },
      { addr: "127.0.0.1", port: 0 },
    );
    const held: Socket[] = [];
    const hold = async (count: number, localAddress: string): Promise<void> => {
      const opened = Array.from({ length: count }, () => {
        const socket = connect({ host: "127.0.0.1", port: server.port, localAddress });
        socket.on("error", () => {});
        held.push(socket);
        return once(socket, "connect");
      });
      await Promise.all(opened);
    };
    const statusFrom = (localAddress: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port: server.port, path: "/healthz", localAddress, agent: false };
        request(options, ({ statusCode }) => resolve(statusCode))
          .on("error", reject)
          .end();
      });
    try {
      await hold(5, "127.0.0.3");
      await hold(60, "127.0.0.2");
      expect(await statusFrom("127.0.0.1")).toBe(200);
      expect(await statusFrom("127.0.0.2")).toBe(200);
      await expect.poll(() => held.filter((socket) => socket.closed).length).toBeGreaterThan(30);
      expect(held.slice(0, 5).filter((socket) => socket.closed)).toEqual([]);
    } finally {
      for (const socket of held) socket.destroy();
      await server.close();
    }
  });

  it("answers the names of --metrics.vhosts, addresses and containers' names only", async () => {
    const health = () => ({ isHealthy: true, body: { version: "v1" } });
    const metrics = createMetrics({ prefix: "y_" });
    const server = await startMetricsServer(
      { expose: () => metrics.expose(), health, ready: health },
      { addr: "127.0.0.1", port: 0, vhosts: ["node.example"] },
    );
    const statusOf = (host: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { host: "127.0.0.1", port: server.port, path: "/metrics", headers: { host }, agent: false };
        request(options, ({ statusCode }) => resolve(statusCode))
          .on("error", reject)
          .end();
      });
    try {
      const statuses = ["node.example:7300", "10.0.0.1:7300", "rnode-1:7300", "evil.example"].map(statusOf);
      expect(await Promise.all(statuses)).toEqual([200, 200, 200, 403]);
    } finally {
      await server.close();
    }
  });
});

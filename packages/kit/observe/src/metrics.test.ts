import { describe, expect, it } from "vitest";
import { createMetrics, type MetricFactory, noMetrics } from "./metrics.ts";

const declare = (m: MetricFactory) => ({
  batches: m.counter<{ verdict: "accept" | "drop" }>("batches_total", "Batches.", ["verdict"]),
  plain: m.counter("plain_total", "Plain."),
  head: m.gauge("head_number", "Head."),
  step: m.histogram("step_seconds", "Step.", [0.1, 1]),
});

describe("metrics", () => {
  it("exposes what was counted, with the prefix", async () => {
    const metrics = createMetrics({ prefix: "x_" });
    const { batches, head, step } = declare(metrics);
    metrics.gaugeOf("queue_items", "Queue.", () => 7);
    batches.inc({ verdict: "drop" });
    batches.add(2, { verdict: "drop" });
    head.set(12);
    step.observe(0.5);
    step.time()();
    const { body } = await metrics.expose();
    for (const line of [
      'x_batches_total{verdict="drop"} 3',
      "x_plain_total 0",
      "x_head_number 12",
      "x_queue_items 7",
      'x_step_seconds_bucket{le="1"} 2',
      "x_step_seconds_count 2",
    ]) {
      expect(body.split("\n")).toContain(line);
    }
    expect(metrics.descriptions.map(({ name }) => name)).toEqual([
      "x_batches_total",
      "x_plain_total",
      "x_head_number",
      "x_step_seconds",
      "x_queue_items",
    ]);
  });

  it("exposes those of several processes together", async () => {
    const own = createMetrics({ prefix: "z_" });
    declare(own).plain.add(1);
    const other = createMetrics({ prefix: "z_", labels: { reader: "1" } });
    const { plain, step, batches } = declare(other);
    plain.add(5);
    step.observe(0.5);
    batches.inc({ verdict: "drop" });
    const { body } = await own.expose([structuredClone(await other.collect())]);
    const lines = body.split("\n");
    for (const line of [
      "z_plain_total 1",
      'z_plain_total{reader="1"} 5',
      'z_batches_total{verdict="drop",reader="1"} 1',
      'z_step_seconds_bucket{le="1",reader="1"} 1',
      'z_step_seconds_count{reader="1"} 1',
    ]) {
      expect(lines).toContain(line);
    }
    expect(lines.filter((line) => line === "# TYPE z_plain_total counter")).toHaveLength(1);
  });

  it("exposes a metric under the names of other programs, too", async () => {
    const aliases: Record<string, readonly string[]> = {
      plain_total: ["other_plain_total", "third"],
      step_seconds: ["other_seconds"],
    };
    const metrics = createMetrics({ prefix: "a_", ofProcess: false, aliasesOf: (name) => aliases[name] ?? [] });
    const { plain, step } = declare(metrics);
    metrics.gaugesOf<{ layer: string }>("refs", "Refs.", ["layer"], () => [
      [{ layer: "l1" }, 3],
      [{ layer: "l2" }, 4],
    ]);
    plain.add(2);
    step.observe(0.5);
    const lines = (await metrics.expose()).body.split("\n");
    for (const line of [
      "a_plain_total 2",
      "other_plain_total 2",
      "third 2",
      "# TYPE other_plain_total counter",
      'other_seconds_bucket{le="1"} 1',
      "other_seconds_count 1",
      'a_refs{layer="l2"} 4',
    ]) {
      expect(lines).toContain(line);
    }
    expect(metrics.descriptions[1]).toMatchObject({ name: "a_plain_total", aliases: ["other_plain_total", "third"] });
  });

  it("does nothing when off", () => {
    const { batches, head, step } = declare(noMetrics);
    batches.inc({ verdict: "accept" });
    head.set(1);
    step.time()();
  });
});

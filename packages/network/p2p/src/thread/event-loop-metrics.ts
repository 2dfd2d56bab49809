import type { IntervalHistogram } from "node:perf_hooks";
import type { MetricFactory } from "@rnode/observe";

const QUANTILES = [50, 99, 100] as const;
const NS_PER_SEC = 1e9;
const SAMPLE_INTERVAL_MS = 10_000;

/** Exposes by how much an event loop is late, over the last ten seconds. */
export function observeEventLoop(metrics: MetricFactory, thread: "main" | "p2p", delay: IntervalHistogram): void {
  const gauge = metrics.gauge<{ thread: string; quantile: string }>(
    "p2p_event_loop_delay_seconds",
    "Delay of the event loops of the network and of the node over the last ten seconds.",
    ["thread", "quantile"],
  );
  delay.enable();
  setInterval(() => {
    for (const percent of QUANTILES) {
      gauge.set(delay.percentile(percent) / NS_PER_SEC, { thread, quantile: String(percent / 100) });
    }
    delay.reset();
  }, SAMPLE_INTERVAL_MS).unref();
}

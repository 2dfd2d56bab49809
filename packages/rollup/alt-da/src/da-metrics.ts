import type { MetricFactory } from "@rnode/observe";

type Operation = "get" | "put";
type Outcome = "ok" | "not-found" | "wrong-data" | "failed";

export interface DaMetrics {
  /** Starts the clock of a request; the returned function stops it. @param bytes of the data */
  request(operation: Operation): (outcome: Outcome, bytes: number) => void;
}

const SECONDS = [0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export function createDaMetrics(m: MetricFactory): DaMetrics {
  const requests = m.counter<{ operation: Operation; outcome: Outcome }>(
    "da_requests_total",
    "Requests to the data availability server, by outcome.",
    ["operation", "outcome"],
  );
  const bytes = m.counter<{ operation: Operation }>(
    "da_bytes_total",
    "Bytes of batches that were read from the data availability server, or written to it.",
    ["operation"],
  );
  const seconds = m.histogram<{ operation: Operation }>(
    "da_request_seconds",
    "Duration of requests to the data availability server.",
    SECONDS,
    ["operation"],
  );
  return {
    request(operation) {
      const startMs = performance.now();
      return (outcome, size) => {
        seconds.observe((performance.now() - startMs) / 1000, { operation });
        requests.inc({ operation, outcome });
        if (outcome === "ok") bytes.add(size, { operation });
      };
    },
  };
}

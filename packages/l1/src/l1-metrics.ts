import type { MetricFactory } from "@rnode/observe";
import type { L1EndpointMetrics } from "./endpoints.ts";

export function createL1Metrics(m: MetricFactory): L1EndpointMetrics {
  const faulty = m.counter<{ endpoint: string }>("l1_faulty_answers_total", "L1 answers that do not match their hash or root.", [
    "endpoint",
  ]);
  const failed = m.counter<{ endpoint: string }>("l1_failed_requests_total", "L1 requests without a usable answer.", ["endpoint"]);
  return { faultyAnswer: (endpoint) => faulty.inc({ endpoint }), requestFailed: (endpoint) => failed.inc({ endpoint }) };
}

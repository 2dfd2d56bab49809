import type { P2PMetrics, RequestLabels } from "../p2p-metrics.ts";

type Metrics = Pick<
  P2PMetrics,
  "requests" | "requestSeconds" | "payloadByNumber" | "quarantined" | "requestsRefused" | "answersCut"
>;

/** Counters of requests. Spec: docs/protocol/05-services.md#node-metrics */
export function requestMetrics(metrics: Metrics) {
  const record = (role: RequestLabels["p2p_role"], number: number, code: number, ms: number): void => {
    const labels: RequestLabels = { p2p_role: role, p2p_method: "payload_by_number", result_code: String(code > 4 ? 5 : code) };
    metrics.requests.inc(labels);
    metrics.requestSeconds.observe(ms / 1_000, labels);
    metrics.payloadByNumber.set(number, { p2p_role: role });
  };
  return {
    /** @param ms how long it took */
    served: (number: number, code: number, ms: number): void => record("server", number, code, ms),
    /** @param code the peer's result code; 1: no answer */
    asked: (number: number, code: number, ms: number): void => record("client", number, code, ms),
    refused: (): void => metrics.requestsRefused.inc(),
    cut: (): void => metrics.answersCut.inc(),
    quarantined: (count: number): void => metrics.quarantined.set(count),
  };
}

export type RequestMetrics = ReturnType<typeof requestMetrics>;

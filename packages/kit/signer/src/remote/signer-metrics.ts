import type { MetricFactory } from "@rnode/observe";

export type SigningOutcome = "signed" | "refused" | "unavailable" | "wrong-answer";
export type SignerMetrics = ReturnType<typeof createSignerMetrics>;

/** Of a remote signer. */
export const createSignerMetrics = (m: MetricFactory) => ({
  requests: m.counter<{ what: "block" | "transaction"; outcome: SigningOutcome }>(
    "signer_requests_total",
    "Signatures that the remote signer was asked for, by what became of it.",
    ["what", "outcome"],
  ),
  seconds: m.histogram<{ what: "block" | "transaction" }>(
    "signer_request_seconds",
    "Time until the remote signer had answered, or was given up.",
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ["what"],
  ),
});

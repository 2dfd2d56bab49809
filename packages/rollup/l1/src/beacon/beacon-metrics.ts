import type { MetricFactory } from "@rnode/observe";

type Request = "version" | "spec" | "genesis" | "blobs" | "blob_sidecars";
type Outcome = "ok" | "not-found" | "refused" | "failed";

export interface BeaconMetrics {
  /** Starts the clock of a request; the returned function stops it. */
  request(request: Request, endpoint: string): (outcome: Outcome) => void;
  /** a blob that does not have the hash it should have, or an answer that cannot be read */
  faultyAnswer(endpoint: string): void;
  /** number of requests for the uncached blobs of one L1 block */
  roundDone(requests: number): void;
  blobs(from: "cache" | "endpoint", count: number): void;
  /** no endpoint had all blobs of a block */
  roundFailed(kind: "missing" | "failed"): void;
}

const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 30];
/** usually 1 */
const REQUESTS = [1, 2, 4, 8];

/** Spec: docs/protocol/05-services.md#node-metrics */
export function createBeaconMetrics(m: MetricFactory): BeaconMetrics {
  const seconds = m.histogram<{ request: Request }>("l1_beacon_request_seconds", "Duration of requests to beacon nodes.", SECONDS, [
    "request",
  ]);
  const requests = m.counter<{ request: Request; endpoint: string; outcome: Outcome }>(
    "l1_beacon_requests_total",
    "Requests to beacon nodes, by outcome.",
    ["request", "endpoint", "outcome"],
  );
  const faulty = m.counter<{ endpoint: string }>(
    "l1_beacon_faulty_answers_total",
    "Answers of beacon nodes that do not match the versioned hash, or cannot be read.",
    ["endpoint"],
  );
  const perBlock = m.histogram("l1_blob_requests_per_block", "Requests it took to get the blobs of an L1 block.", REQUESTS);
  const blobs = m.counter<{ from: "cache" | "endpoint" }>("l1_blobs_total", "Blobs given to derivation, by source.", ["from"]);
  const failedRounds = m.counter<{ kind: "missing" | "failed" }>(
    "l1_blob_failures_total",
    "Times that no beacon endpoint had all blobs of an L1 block.",
    ["kind"],
  );
  return {
    request: (request, endpoint) => {
      const stop = seconds.time({ request });
      return (outcome) => {
        stop();
        requests.inc({ request, endpoint, outcome });
      };
    },
    faultyAnswer: (endpoint) => faulty.inc({ endpoint }),
    roundDone: (count) => perBlock.observe(count),
    blobs: (from, count) => blobs.add(count, { from }),
    roundFailed: (kind) => failedRounds.inc({ kind }),
  };
}

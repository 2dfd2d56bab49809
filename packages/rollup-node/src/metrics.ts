import type { DerivationObserver } from "@rnode/derivation";
import { createBeaconMetrics, createL1Metrics } from "@rnode/l1";
import type { MetricFactory } from "@rnode/observe";
import type { ProtocolVersionMetrics } from "./runtime/protocol-version-watch.ts";
import type { SafeHeadState } from "./safe-head-watch.ts";
import type { SyncFacts } from "./sync-status.ts";

const notCounted = (): void => {};

/** Metrics of the rollup node. Names: docs/protocol/05-services.md#node-metrics */
export function createNodeMetrics(factory: MetricFactory) {
  const resets = factory.counter("pipeline_resets_total", "Pipeline resets: the heads were determined again.");
  const derivationErrors = factory.counter("derivation_errors_total", "Failures of derivation after which it was retried.");
  const publishingErrors = factory.counter("publishing_errors_total", "Sequenced blocks that the network did not accept.");
  const batches = factory.counter<{ type: string; verdict: string }>("derived_batches_total", "Batches read, by verdict.", [
    "type",
    "verdict",
  ]);
  const channels = factory.counter<{ event: string }>("channel_events_total", "Events of channels, by kind.", ["event"]);
  const droppedFrames = factory.counter<{ reason: string }>("dropped_frames_total", "Frames that were not used, by reason.", [
    "reason",
  ]);
  const droppedData = factory.counter<{ reason: string }>("dropped_data_total", "Batcher data that held no frames, by reason.", [
    "reason",
  ]);
  const observer: DerivationObserver = {
    onBatch: ({ batch, verdict }) =>
      batches.inc({ type: batch.type, verdict: verdict.kind === "drop" ? verdict.reason : verdict.kind }),
    onChannel: ({ event }) => channels.inc({ event }),
    onFrameDropped: ({ reason }) => droppedFrames.inc({ reason }),
    onDataDropped: ({ reason }) => droppedData.inc({ reason }),
    onL1Block: notCounted,
    onData: notCounted,
    onFrame: notCounted,
  };
  const versionDelta = factory.gauge<{ type: string }>(
    "protocol_version_delta",
    "How the versions of this node and of its engine stand to those on L1: below 0 outdated, 0 the same, up to 4 ahead, from 100 not comparable.",
    ["type"],
  );
  const versions = factory.gauge<{ local: string; engine: string; recommended: string; required: string }>(
    "protocol_versions",
    "Protocol versions of this node, of its engine and on L1, as labels.",
    ["local", "engine", "recommended", "required"],
  );
  const protocolVersions: ProtocolVersionMetrics = {
    distance: (type, distance) => versionDelta.set(distance, { type }),
    versions: (labels) => versions.set(1, labels),
  };
  return {
    protocolVersions,
    l1: createL1Metrics(factory),
    beacon: createBeaconMetrics(factory),
    observer,
    publishingError: () => publishingErrors.inc(),
    reset: () => resets.inc(),
    derivationError: () => derivationErrors.inc(),
    observeSafeHead(state: () => SafeHeadState): void {
      factory.gaugeOf(
        "safe_head_stalled_seconds",
        "Time since the safe head last moved while derivation read L1.",
        () => state().stalledSec,
      );
      factory.gaugeOf(
        "safe_head_stalled_l1_blocks",
        "L1 blocks read since the safe head last moved.",
        () => state().stalledL1Blocks,
      );
      factory.gaugeOf(
        "sequencing_window_left_l1_blocks",
        "L1 blocks until blocks without transactions are derived after the safe head.",
        () => state().windowLeftL1Blocks ?? 0,
      );
    },
    observeInbox(inbox: { readonly length: number; readonly sizeBytes: number }): void {
      factory.gaugeOf("unsafe_payloads_buffer_len", "Unsafe blocks from others that wait for their parents.", () => inbox.length);
      factory.gaugeOf("unsafe_payloads_buffer_mem_size", "Memory that these blocks take, in bytes.", () => inbox.sizeBytes);
    },
    observeHeads(facts: () => SyncFacts): void {
      const gauges: readonly (readonly [string, (facts: SyncFacts) => number | undefined])[] = [
        ["l1_head", ({ l1 }) => l1.head?.number],
        ["l1_finalized", ({ l1 }) => l1.finalized?.number],
        ["l1_derived", ({ currentL1 }) => currentL1?.number],
        ["l2_unsafe", ({ heads }) => heads?.unsafe.number],
        ["l2_pending_safe", ({ heads }) => heads?.pendingSafe.number],
        ["l2_safe", ({ heads }) => heads?.safe.number],
        ["l2_finalized", ({ heads }) => heads?.finalized.number],
      ];
      for (const [name, read] of gauges) {
        factory.gaugeOf(`refs_number_${name}`, `Number of the ${name.replaceAll("_", " ")} block.`, () => read(facts()) ?? 0);
      }
    },
  };
}

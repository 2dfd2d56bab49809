import { createDaMetrics } from "@rnode/alt-da";
import type { DerivationObserver } from "@rnode/derivation";
import { createRpcClientMetrics } from "@rnode/jsonrpc";
import { createBeaconMetrics, createL1Metrics } from "@rnode/l1";
import type { MetricFactory } from "@rnode/observe";
import type { Clock, Hex } from "@rnode/primitives";
import type { L1BlockRef, L2BlockRef } from "@rnode/protocol";
import type { SourceResult } from "./follow/follow-source.ts";
import type { SyncFacts } from "./rpc/sync-status.ts";
import type { ProtocolVersionMetrics } from "./runtime/protocol-version-watch.ts";
import type { SafeHeadState } from "./safe/safe-head-watch.ts";
import type { RefusalCause } from "./unsafe/refused-blocks.ts";

const notCounted = (): void => {};

/** Counts events, and says when the last one was. */
function eventOf(factory: MetricFactory, clock: Pick<Clock, "unixMs">, name: string, help: string): () => void {
  const total = factory.counter(`${name}_total`, help);
  const last = factory.gauge(`last_${name}_unix`, `Time of the latest, in seconds since 1970. ${help}`);
  return () => {
    total.inc();
    last.set(clock.unixMs() / 1000);
  };
}

/**
 * Metrics of the rollup node. Names: docs/protocol/05-services.md#node-metrics
 *
 * @param ofL1 of the clients of L1 and of the beacon node
 */
export function createNodeMetrics(factory: MetricFactory, clock: Pick<Clock, "unixMs">, ofL1 = factory) {
  const event = (name: string, help: string) => eventOf(factory, clock, name, help);
  const resets = event("pipeline_resets", "Pipeline resets: the heads were determined again.");
  const derivationErrors = event("derivation_errors", "Failures of derivation after which it was retried.");
  const publishingErrors = event("publishing_errors", "Sequenced blocks that the network did not accept.");
  const sequencingErrors = event("sequencing_errors", "Times that a block could not be built, sealed or let out.");
  const unsafePayloads = event("unsafe_payloads", "Blocks received from others.");
  const refusedUnsafe = factory.counter<{ cause: RefusalCause }>(
    "unsafe_payloads_refused_total",
    "Unsafe blocks of other nodes that were not taken, by cause.",
    ["cause"],
  );
  const channelTimeouts = event("channel_timeout", "Channels that timed out.");
  const framesAdded = event("frame_added", "Frames read from L1.");
  const channelBytes = factory.counter("channel_input_bytes_total", "Bytes of the frames read from L1.");
  const sequenced = factory.counter("transactions_sequenced_total", "Transactions in sequenced blocks, deposits included.");
  const buildingDiff = factory.histogram(
    "sequencer_building_diff_seconds",
    "How much longer than the block time building a block took; below 0: less.",
    [-10, -5, -2.5, -1, -0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  );
  const sealing = factory.histogram("sequencer_sealing_seconds", "Time to seal a block and let it out.", [
    ...[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ]);
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
  const skippedLogs = factory.counter<{ contract: string }>(
    "skipped_logs_total",
    "Logs of the rollup's L1 contracts that had another form than the contracts give them, by contract.",
    ["contract"],
  );
  const observer: DerivationObserver = {
    onBatch: ({ batch, verdict }) =>
      batches.inc({ type: batch.type, verdict: verdict.kind === "drop" ? verdict.reason : verdict.kind }),
    onChannel: ({ event: what }) => {
      channels.inc({ event: what });
      if (what === "timed-out") channelTimeouts();
    },
    onFrameDropped: ({ reason }) => droppedFrames.inc({ reason }),
    onDataDropped: ({ reason }) => droppedData.inc({ reason }),
    onLogSkipped: ({ contract }) => skippedLogs.inc({ contract }),
    onL1Block: notCounted,
    onData: notCounted,
    onFrame: ({ frame }) => {
      framesAdded();
      channelBytes.add(frame.data.length);
    },
  };
  const sourceRequests = factory.counter<{ result: SourceResult }>(
    "follow_source_requests_total",
    "Requests to the source of a light node, by result.",
    ["result"],
  );
  const sourceReorgs = factory.counter<{ action: "force_reset" | "soft_update" }>(
    "follow_source_reorgs_total",
    "Times that a light node left its unsafe chain for the source's, as a sequencer (force_reset) or not.",
    ["action"],
  );
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
    l1: createL1Metrics(ofL1),
    beacon: createBeaconMetrics(ofL1),
    da: createDaMetrics(factory),
    observer,
    rpcClients: createRpcClientMetrics(factory),
    publishingError: publishingErrors,
    reset: resets,
    derivationError: derivationErrors,
    unsafePayload: unsafePayloads,
    refusedUnsafe: (cause: RefusalCause): void => refusedUnsafe.inc({ cause }),
    sequencer: {
      error: sequencingErrors,
      sealed: (sealingSec: number, buildingSec: number, blockTimeSec: number): void => {
        sealing.observe(sealingSec);
        buildingDiff.observe(buildingSec - blockTimeSec);
      },
      sequenced: (transactions: number): void => sequenced.add(transactions),
    },
    followSource: {
      request: (result: SourceResult): void => sourceRequests.inc({ result }),
      reorg: (action: "force_reset" | "soft_update"): void => sourceReorgs.inc({ action }),
    },
    observeSource(stalledSec: () => number): void {
      factory.gaugeOf(
        "follow_source_stalled_seconds",
        "Time since the source of a light node last brought something new, although L1 has new blocks.",
        stalledSec,
      );
    },
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
    /** @returns to be called when heads may have moved: how late a new one is, is known only then */
    observeHeads(facts: () => SyncFacts, isIdle: () => boolean): () => void {
      const lateness = new Map<string, { readonly hash: Hex; readonly sec: number }>();
      const each = (value: (block: L1BlockRef | L2BlockRef) => number) => () =>
        refsOf(facts()).map(({ layer, type, block }) => [{ layer, type }, value(block)] as const);
      factory.gaugesOf<RefLabels>(
        "refs_number",
        "Number of the block.",
        REF_LABELS,
        each(({ number }) => number),
      );
      factory.gaugesOf<RefLabels>(
        "refs_time",
        "Time of the block, in seconds since 1970.",
        REF_LABELS,
        each(({ timestamp }) => timestamp),
      );
      factory.gaugesOf<RefLabels>(
        "refs_hash",
        "The first 8 bytes of the block's hash as an integer, little-endian: different for different blocks.",
        REF_LABELS,
        each(({ hash }) => Number(BigInt(`0x${hash.slice(2, 18).match(/../g)!.toReversed().join("")}`))),
      );
      factory.gaugesOf<{ type: string }>("refs_seqnr", "Number of the L2 block within its epoch.", ["type"], () =>
        refsOf(facts()).flatMap(({ type, block }) =>
          "sequenceNumber" in block ? [[{ type }, block.sequenceNumber] as const] : [],
        ),
      );
      factory.gaugesOf<RefLabels>(
        "refs_latency",
        "The block's time less the time at which it was first seen as this head, in seconds: how late it was, below 0.",
        REF_LABELS,
        () =>
          refsOf(facts()).flatMap(({ layer, type }) => {
            const late = lateness.get(type);
            return late === undefined ? [] : [[{ layer, type }, late.sec] as const];
          }),
      );
      factory.gaugeOf("derivation_idle", "1 while all of L1 that there is has been derived.", () => (isIdle() ? 1 : 0));
      return () => {
        for (const { type, block } of refsOf(facts())) {
          if (lateness.get(type)?.hash !== block.hash)
            lateness.set(type, { hash: block.hash, sec: block.timestamp - clock.unixMs() / 1000 });
        }
      };
    },
  };
}

export type NodeMetrics = ReturnType<typeof createNodeMetrics>;

type RefLabels = { readonly layer: "l1" | "l2"; readonly type: string };
const REF_LABELS = ["layer", "type"] as const;

interface Ref extends RefLabels {
  readonly block: L1BlockRef | L2BlockRef;
}

/** All heads that are known. */
function refsOf({ heads, localSafe, l1, currentL1, queuedUnsafe }: SyncFacts): Ref[] {
  const refs: readonly (readonly [RefLabels["layer"], string, L1BlockRef | L2BlockRef | undefined])[] = [
    ["l1", "l1_head", l1.head],
    ["l1", "l1_safe", l1.safe],
    ["l1", "l1_finalized", l1.finalized],
    ["l1", "l1_derived", currentL1],
    ["l2", "l2_unsafe", heads?.unsafe],
    ["l2", "l2_pending_safe", heads?.pendingSafe],
    ["l2", "l2_local_safe", localSafe ?? heads?.safe],
    ["l2", "l2_safe", heads?.safe],
    ["l2", "l2_finalized", heads?.finalized],
    ["l2", "l2_buffer_unsafe", queuedUnsafe],
  ];
  return refs.flatMap(([layer, type, block]) => (block === undefined ? [] : [{ layer, type, block }]));
}

/** What op-node exports under the same names, after its own prefix. */
const OF_OP_NODE = new Set([
  ...["info", "up", "derivation_idle", "derivation_errors_total", "sequencing_errors_total", "publishing_errors_total"],
  ...["pipeline_resets_total", "unsafe_payloads_total", "channel_timeout_total", "frame_added_total", "derived_batches_total"],
  ...["last_pipeline_resets_unix", "last_derivation_errors_unix", "last_publishing_errors_unix", "last_sequencing_errors_unix"],
  ...["last_unsafe_payloads_unix", "last_channel_timeout_unix", "last_frame_added_unix"],
  ...["unsafe_payloads_buffer_len", "unsafe_payloads_buffer_mem_size"],
  ...["refs_number", "refs_time", "refs_hash", "refs_latency", "refs_seqnr"],
  ...["transactions_sequenced_total", "sequencer_building_diff_seconds", "sequencer_sealing_seconds"],
  ...["rpc_client_requests_total", "rpc_client_request_duration_seconds", "rpc_client_responses_total"],
  ...["p2p_peer_count", "p2p_stream_count", "peer_scores", "p2p_gossip_events_total", "p2p_bandwidth_bytes_total"],
  ...["p2p_peer_unbans", "p2p_ip_unbans", "p2p_dials", "p2p_accepts", "p2p_req_duration_seconds", "p2p_req_total"],
  ...["protocol_version_delta", "protocol_versions"],
  ...["follow_source_requests_total", "follow_source_reorgs_total"],
  ...["p2p_payload_by_number", "p2p_payloads_quarantine_total"],
]);
/** What op-node has under another name. */
const RENAMED: Readonly<Record<string, string>> = {
  rpc_requests_total: "rpc_server_requests_total",
  rpc_request_seconds: "rpc_server_request_duration_seconds",
  channel_input_bytes_total: "channel_input_bytes",
};

export const METRICS_PREFIX = "rnode_default_";

/** The names that dashboards for op-node ask for. */
export function opNodeNames(name: string): readonly string[] {
  const known = OF_OP_NODE.has(name) ? name : RENAMED[name];
  return known === undefined ? [] : [`op_node_default_${known}`];
}

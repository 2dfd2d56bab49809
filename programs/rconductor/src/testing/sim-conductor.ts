import { deflateRawSync, inflateRawSync } from "node:zlib";
import { type Logger, noMetrics } from "@rnode/observe";
import type { SimProcess } from "@rnode/program/testing";
import type { ForkTimes } from "@rnode/protocol";
import { CommitStore, DEFAULT_COMMIT_OPTIONS } from "../cluster/commit-store.ts";
import type { ClusterKeys } from "../cluster/keys.ts";
import { assertPayloadHash } from "../cluster/payload-check.ts";
import { Conductor } from "../conductor.ts";
import { createConductorMetrics } from "../conductor-metrics.ts";
import type { Etcd } from "../etcd/etcd-api.ts";
import type { SequencerNode } from "../sequencer/sequencer-api.ts";

export interface SimConductorOptions {
  readonly id: string;
  readonly leaseTtlSec: number;
  readonly compactionIntervalMs: number;
  readonly blockTimeSec: number;
  readonly forkTimes: ForkTimes;
  readonly mayBootstrap: boolean;
  readonly l1ReorgWaitMs: number;
}

export interface SimConductorDeps {
  readonly process: SimProcess;
  readonly etcd: Etcd;
  readonly keys: ClusterKeys;
  readonly node: SequencerNode;
  readonly log: Logger;
  /** switches rules of the store off */
  readonly alterStore?: (store: CommitStore) => void;
}

/** A conductor under a simulated clock. */
export interface SimConductor {
  readonly process: SimProcess;
  readonly program: Conductor;
}

export function startSimConductor(options: SimConductorOptions, deps: SimConductorDeps): SimConductor {
  const { id, leaseTtlSec, compactionIntervalMs, blockTimeSec, forkTimes, mayBootstrap, l1ReorgWaitMs } = options;
  const { process, etcd, keys, node, log } = deps;
  const compression = {
    deflate: async (text: string) => deflateRawSync(text, { level: 1 }),
    inflate: async (bytes: Uint8Array) => inflateRawSync(bytes),
  };
  const store = new CommitStore(DEFAULT_COMMIT_OPTIONS, { etcd, keys, id, compression });
  deps.alterStore?.(store);
  const program = new Conductor(
    {
      session: { id, leaseTtlSec, pollIntervalMs: 250, compactionIntervalMs },
      health: {
        intervalSec: 1,
        unsafeIntervalSec: 10,
        safeEnabled: false,
        safeIntervalSec: 0,
        minPeerCount: 1,
        executionP2pMinPeerCount: 0,
      },
      blockTimeSec,
      mayBootstrap,
      isPaused: false,
      l1ReorgWaitMs,
      addresses: { addr: "", executionRpc: "", rollupRpc: "" },
    },
    {
      etcd,
      keys,
      store,
      node,
      checkPayload: (envelope) => assertPayloadHash(forkTimes, envelope),
      clock: process.clock,
      monotonicMs: () => process.clock.monotonicMs(),
      log,
      metrics: createConductorMetrics(noMetrics),
    },
  );
  program.start();
  return { process, program };
}

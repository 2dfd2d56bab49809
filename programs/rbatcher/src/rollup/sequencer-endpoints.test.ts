import { ActiveSequencer, type SyncStatus } from "@rnode/node-clients";
import { systemClock } from "@rnode/program";
import type { L2BlockRef } from "@rnode/protocol";
import { expect, it } from "vitest";
import { SequencerEndpoints } from "./sequencer-endpoints.ts";

const block = (number: number) => ({ number, hash: "0x1", parentHash: "0x0", timestamp: number }) as unknown as L2BlockRef;

it.each([
  ["the local-safe block", 7, 7],
  ["the safe block of a node without the field", undefined, 5],
])("counts what was derived up to %s", async (_, localSafe, expected) => {
  const status = { safeL2: block(5), ...(localSafe !== undefined && { localSafeL2: block(localSafe) }) } as SyncStatus;
  const node = { syncStatus: async () => status };
  const active = new ActiveSequencer({ checkIntervalMs: 1000 }, [{ name: "one", isSequencing: async () => true }], {
    clock: systemClock,
    onChange: () => {},
  });
  const endpoints = new SequencerEndpoints(active, [{ node, blocks: {} }] as never);
  expect((await endpoints.syncStatus()).safeL2.number).toBe(expected);
});

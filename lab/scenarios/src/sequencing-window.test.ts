// @module-tag long
import { forksUpTo, isDepositTransaction, type OpFork } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { scheduleFaults } from "./faults.ts";
import { NO_L1_FORKS, type Plan, planOf } from "./plan.ts";
import { SimNetwork } from "./sim-network.ts";

const L1_BLOCK_TIME_SEC = 6;
const SEQ_WINDOW_SIZE = 20;
const WINDOW_SEC = SEQ_WINDOW_SIZE * L1_BLOCK_TIME_SEC;
const OUTAGE = { fromMs: 20_000, toMs: 20_000 + (WINDOW_SEC + 60) * 1000 };
/** for the sequencer to leave the end of the window, and for batches to be included */
const RECOVERY_MS = 240_000;

/** L1 takes no batch for longer than the sequencing window, and then takes two blocks for each. */
const planWith = (fork: OpFork, args: readonly string[]): Plan => ({
  ...planOf(1, { hasUpgradeCode: false }),
  l1BlockTimeSec: L1_BLOCK_TIME_SEC,
  // L1 has no reorgs: a sequencer without confirmations would build other blocks than the published ones.
  l1Forks: NO_L1_FORKS,
  blockTimeSec: 2,
  seqWindowSize: SEQ_WINDOW_SIZE,
  channelTimeout: 10,
  maxSequencerDriftSec: 600,
  verifiers: 1,
  keepsSafeHeads: [],
  // a sequencer that needs longer for the blocks of a window than L1 for a block
  maxLatencyMs: 150,
  sequencerConfs: 0,
  verifierConfs: 0,
  forkTimes: forksUpTo(fork),
  usesBlobs: false,
  blobSource: "l1",
  batcherArgs: [
    ...["--poll-interval=1s", "--max-channel-duration=2", "--sub-safety-margin=2", "--num-confirmations=1"],
    ...["--resubmission-timeout=20s", "--txmgr.receipt-query-interval=2s", "--txmgr.not-in-mempool-timeout=30s"],
    ...["--max-pending-tx=0", ...args],
  ],
  hasRoom: true,
  userIntervalMs: 1500,
  engine: "simulated",
  faults: [
    { kind: "inclusion", how: "lost", delayMs: 0, ...OUTAGE },
    { kind: "inclusion", how: "late", delayMs: 12_000, fromMs: OUTAGE.toMs, toMs: OUTAGE.toMs + RECOVERY_MS },
  ],
});

describe("a chain whose sequencing window ended without batches", () => {
  describe.each<[OpFork, string, readonly string[], string[]]>([
    ["delta", "span", ["--batch-type=1"], ["long"]],
    ["jovian", "singular", ["--batch-type=0"], []],
  ])("%s, %s batches", (fork, _, args, tags) => {
    it("has users' transactions in safe blocks again without anybody's help", { tags, timeout: 60_000 }, async () => {
      const network = new SimNetwork(planWith(fork, args), { isLogKept: true });
      network.start();
      scheduleFaults(network);
      await network.run(OUTAGE.toMs + RECOVERY_MS);
      expect(network.violations).toEqual([]);
      expect(network.log.lines.some((line) => line.includes("they are built without transactions"))).toBe(true);
      const nowSec = network.clock.unixMs() / 1000;
      for (const { name, heads, engine } of network.nodes) {
        const { safe } = heads!;
        expect({ name, isInTime: nowSec - safe.timestamp < WINDOW_SEC / 2 }).toEqual({ name, isInTime: true });
        const { transactions } = engine.canonicalPayload(safe.number)!.executionPayload;
        expect({ name, hasUsers: !transactions.every(isDepositTransaction) }).toEqual({ name, hasUsers: true });
      }
      await network.remove();
    });
  });
});

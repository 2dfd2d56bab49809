import type { Hex } from "@rnode/primitives";
import type { ForkTimes, L1BlockRef, L2BlockRef, RollupConfig } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { forksUpTo } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import { type BatchContext, checkSingularBatch } from "./batch-checks.ts";
import type { BlockBatch } from "./read-batch.ts";

const WINDOW = 20;
const DRIFT = 600;
const user = Uint8Array.of(2, 1);

/** L1 blocks 100, 101, 102 at 1000, 1012, 1024 s. */
const l1 = (number: number, timestamp = 1000 + (number - 100) * 12): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp,
});
const safeHead: L2BlockRef = {
  number: 50,
  hash: hashOf(50_000),
  parentHash: hashOf(49_999),
  timestamp: 1020,
  l1Origin: { number: 100, hash: hashOf(100) },
  sequenceNumber: 10,
};

interface Case {
  readonly forks?: ForkTimes;
  readonly config?: Partial<RollupConfig>;
  readonly l1Blocks?: readonly L1BlockRef[];
  readonly safe?: Partial<L2BlockRef>;
  readonly inclusion?: L1BlockRef;
  readonly batch?: Partial<BlockBatch>;
}

const PRE = forksUpTo("granite");
const HOLOCENE = forksUpTo("holocene");

function verdict({ forks = PRE, config, l1Blocks = [l1(100), l1(101), l1(102)], safe, inclusion = l1(102), batch }: Case): string {
  const context: BatchContext = {
    config: testConfig({ forkTimes: forks, seqWindowSize: WINDOW, maxSequencerDriftSec: DRIFT, ...config }),
    l1Blocks,
    l2SafeHead: { ...safeHead, ...safe },
    inclusion,
  };
  const fitting = { parentHash: safeHead.hash, epoch: { number: 100, hash: hashOf(100) }, timestamp: 1022, transactions: [user] };
  const result = checkSingularBatch(context, { ...fitting, ...batch });
  return "reason" in result ? `${result.kind} ${result.reason}` : result.kind;
}

const epoch = (number: number, hash: Hex = hashOf(number)) => ({ number, hash });

// docs/protocol/02-derivation.md#singular-batch-checks
describe("singular batch", () => {
  it.each<[string, Case, string]>([
    ["0 no L1 blocks", { l1Blocks: [] }, "undecided no-l1-blocks"],
    ["1 future", { batch: { timestamp: 1024 } }, "future"],
    ["1 future, Holocene", { forks: HOLOCENE, batch: { timestamp: 1024 } }, "drop timestamp-in-future"],
    ["1 between blocks", { batch: { timestamp: 1023 } }, "future"],
    ["2 past", { batch: { timestamp: 1020 } }, "drop timestamp-in-past"],
    ["2 past, Holocene", { forks: HOLOCENE, batch: { timestamp: 1020 } }, "past"],
    ["3 another parent", { batch: { parentHash: hashOf(1) } }, "drop parent-hash-mismatch"],
    ["4 the last block of the window", { inclusion: l1(100 + WINDOW) }, "accept"],
    ["4 one block after the window", { inclusion: l1(101 + WINDOW) }, "drop included-too-late"],
    ["5 an epoch before the current one", { l1Blocks: [l1(101), l1(102)], batch: { epoch: epoch(100) } }, "drop epoch-too-old"],
    ["6 next epoch unknown", { l1Blocks: [l1(100)], batch: { epoch: epoch(101) } }, "undecided next-origin-unknown"],
    ["7 two epochs ahead", { batch: { epoch: epoch(102) } }, "drop epoch-too-new"],
    ["8 another hash of the epoch", { batch: { epoch: epoch(100, hashOf(1)) } }, "drop epoch-hash-mismatch"],
    ["8 another hash of the next epoch", { batch: { epoch: epoch(101, hashOf(1)) } }, "drop epoch-hash-mismatch"],
    ["9 as old as its origin", { batch: { epoch: epoch(101) }, l1Blocks: [l1(100), l1(101, 1022)] }, "accept"],
    ["9 older than its origin", { batch: { epoch: epoch(101) }, l1Blocks: [l1(100), l1(101, 1023)] }, "drop before-l1-origin"],
    ["10 exactly the drift", { forks: forksUpTo("ecotone"), config: { maxSequencerDriftSec: 22 } }, "accept"],
    ["10 beyond the drift", { forks: forksUpTo("ecotone"), config: { maxSequencerDriftSec: 21 } }, "drop exceeds-sequencer-drift"],
    [
      "10 beyond the drift after advancing the origin",
      { forks: forksUpTo("ecotone"), config: { maxSequencerDriftSec: 9 }, batch: { epoch: epoch(101) } },
      "drop exceeds-sequencer-drift",
    ],
    ["10 Fjord: 1800 s", { config: { maxSequencerDriftSec: 1 }, safe: { timestamp: 2798 }, batch: { timestamp: 2800 } }, "accept"],
    ["10 Fjord: beyond 1800 s", { safe: { timestamp: 2799 }, batch: { timestamp: 2801 } }, "drop exceeds-sequencer-drift"],
    [
      "10 Fjord is judged by the time of the origin",
      { forks: { ...forksUpTo("ecotone"), fjord: 1001 }, config: { maxSequencerDriftSec: 1 } },
      "drop exceeds-sequencer-drift",
    ],
    [
      "11 beyond the drift, empty, next origin unknown",
      { forks: forksUpTo("ecotone"), config: { maxSequencerDriftSec: 1 }, l1Blocks: [l1(100)], batch: { transactions: [] } },
      "undecided next-origin-unknown",
    ],
    [
      "12 beyond the drift, empty, the next origin could have been adopted",
      {
        forks: forksUpTo("ecotone"),
        config: { maxSequencerDriftSec: 1 },
        l1Blocks: [l1(100), l1(101, 1022)],
        batch: { transactions: [] },
      },
      "drop must-advance-origin",
    ],
    [
      "12 beyond the drift, empty, the next origin is newer",
      {
        forks: forksUpTo("ecotone"),
        config: { maxSequencerDriftSec: 1 },
        l1Blocks: [l1(100), l1(101, 1023)],
        batch: { transactions: [] },
      },
      "accept",
    ],
    [
      "12 beyond the drift, empty, origin advanced",
      { forks: forksUpTo("ecotone"), config: { maxSequencerDriftSec: 1 }, batch: { epoch: epoch(101), transactions: [] } },
      "accept",
    ],
    [
      "13 Jovian's activation block with transactions",
      { forks: { ...forksUpTo("isthmus"), jovian: 1022 } },
      "drop transactions-in-activation-block",
    ],
    ["13 Jovian's activation block", { forks: { ...forksUpTo("isthmus"), jovian: 1022 }, batch: { transactions: [] } }, "accept"],
    ["13 activation between blocks", { forks: { ...forksUpTo("isthmus"), jovian: 1021 } }, "drop transactions-in-activation-block"],
    ["13 the block after the activation", { forks: { ...forksUpTo("isthmus"), jovian: 1020 } }, "accept"],
    [
      "13 Karst's activation block with transactions",
      { forks: { ...forksUpTo("jovian"), karst: 1022 } },
      "drop transactions-in-activation-block",
    ],
    [
      "13 interop's activation block with transactions",
      { forks: { ...forksUpTo("karst"), lagoon: 1022 } },
      "drop transactions-in-activation-block",
    ],
    ["13 Isthmus' activation block with transactions", { forks: { ...forksUpTo("holocene"), isthmus: 1022 } }, "accept"],
    ["14 an empty transaction", { batch: { transactions: [user, new Uint8Array()] } }, "drop empty-transaction"],
    ["15 a deposit", { batch: { transactions: [user, Uint8Array.of(0x7e, 1)] } }, "drop deposit-transaction"],
    [
      "16 a set-code transaction before Isthmus",
      { batch: { transactions: [Uint8Array.of(4, 1)] } },
      "drop set-code-before-isthmus",
    ],
    [
      "16 a set-code transaction in Isthmus' first block",
      { forks: { ...HOLOCENE, isthmus: 1022 }, batch: { transactions: [Uint8Array.of(4, 1)] } },
      "accept",
    ],
    [
      "16 a post-exec transaction before Lagoon",
      { forks: forksUpTo("karst"), batch: { transactions: [user, Uint8Array.of(0x7d, 1)] } },
      "drop post-exec-before-lagoon",
    ],
    [
      "16 a post-exec transaction in Lagoon, whatever its payload",
      { forks: forksUpTo("lagoon"), batch: { transactions: [Uint8Array.of(0x7d), user, Uint8Array.of(0x7d, 1)] } },
      "accept",
    ],
    [
      "13 Lagoon's activation block with only a post-exec transaction",
      { forks: { ...forksUpTo("karst"), lagoon: 1022 }, batch: { transactions: [Uint8Array.of(0x7d, 1)] } },
      "drop transactions-in-activation-block",
    ],
    ["17 an unknown type is left to the engine", { batch: { transactions: [Uint8Array.of(5, 1)] } }, "accept"],
    ["18 a batch that fits", {}, "accept"],
    ["18 on the next epoch", { batch: { epoch: epoch(101) } }, "accept"],
    ["18 without transactions", { batch: { transactions: [] } }, "accept"],
  ])("%s", (_, each, expected) => {
    expect(verdict(each)).toBe(expected);
  });

  it.each<[string, Case, string]>([
    [
      "a timestamp before everything else",
      { batch: { timestamp: 1020, parentHash: hashOf(1), epoch: epoch(1) } },
      "drop timestamp-in-past",
    ],
    ["the parent before the epoch", { batch: { parentHash: hashOf(1), epoch: epoch(1) } }, "drop parent-hash-mismatch"],
    ["the window before the epoch", { inclusion: l1(130), batch: { epoch: epoch(99) } }, "drop included-too-late"],
    ["numbers above 2^53", { batch: { timestamp: 2 ** 64 } }, "future"],
    ["an epoch above 2^53", { batch: { epoch: epoch(2 ** 64, hashOf(1)) } }, "drop epoch-too-new"],
  ])("order: %s", (_, each, expected) => {
    expect(verdict(each)).toBe(expected);
  });
});

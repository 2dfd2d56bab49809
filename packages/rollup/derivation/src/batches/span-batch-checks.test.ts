import { hexToBytes } from "@rnode/primitives";
import {
  type ExecutionPayload,
  encodeTransaction,
  type ForkTimes,
  type L1BlockRef,
  type L2BlockRef,
  l1InfoDeposit,
  type RollupConfig,
  type SpanBlock,
} from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { forksUpTo } from "../testing/sim.ts";
import { hashOf, testConfig } from "../testing/test-config.ts";
import type { BatchContext } from "./batch-checks.ts";
import type { BatchVerdict } from "./batch-verdict.ts";
import type { SpanRead } from "./read-batch.ts";
import { checkSpanOverlap, checkSpanPrefix, checkWholeSpan } from "./span-batch-checks.ts";

const WINDOW = 20;
const DELTA = forksUpTo("delta");
const GRANITE = forksUpTo("granite");
const HOLOCENE = forksUpTo("holocene");
const user = Uint8Array.of(2, 1);
const POST_EXEC = Uint8Array.of(0x7d, 0xc1, 1);

const l1 = (number: number, timestamp = 1000 + (number - 100) * 12): L1BlockRef => ({
  number,
  hash: hashOf(number),
  parentHash: hashOf(number - 1),
  timestamp,
});

/** L2 block 10 is the genesis, at 940 s; block 50 is the safe head, at 1020 s; six blocks per origin, the newest being 100. */
const l2Hash = (number: number) => (number === 10 ? hashOf(49_960) : hashOf(50_000 + number));
const ref = (number: number): L2BlockRef => {
  const l1Number = 100 - Math.floor((50 - number) / 6);
  return {
    number,
    hash: l2Hash(number),
    parentHash: l2Hash(number - 1),
    timestamp: 940 + (number - 10) * 2,
    l1Origin: { number: l1Number, hash: hashOf(l1Number) },
    sequenceNumber: 0,
  };
};

interface Case {
  readonly forks?: ForkTimes;
  readonly config?: Partial<RollupConfig>;
  readonly l1Blocks?: readonly L1BlockRef[];
  readonly inclusion?: L1BlockRef;
  /** each block: [timestamp, epoch, transactions] */
  readonly blocks?: readonly (readonly [number, number, (readonly Uint8Array[])?])[];
  readonly parentCheck?: string;
  readonly originCheck?: string;
  /** transactions of each safe block after its L1 attributes; default: `user` */
  readonly safe?: readonly Uint8Array[];
}

function setUp({
  forks = GRANITE,
  config,
  l1Blocks = [l1(100), l1(101), l1(102)],
  inclusion = l1(103),
  blocks,
  safe = [user],
  ...checks
}: Case) {
  const rollup = testConfig({ forkTimes: forks, seqWindowSize: WINDOW, ...config });
  const spanBlocks: SpanBlock[] = (
    blocks ?? [
      [1022, 100],
      [1024, 101],
    ]
  ).map(([timestamp, epochNumber, transactions = [user]]) => ({
    timestamp,
    epochNumber,
    transactions,
  }));
  const first = spanBlocks[0]!;
  const last = spanBlocks.at(-1)!;
  const parentNumber = 10 + (first.timestamp - 940) / 2 - 1;
  const read: SpanRead = {
    kind: "span",
    channelId: "0x01",
    parentCheck: (checks.parentCheck ?? l2Hash(parentNumber)).slice(0, 42) as `0x${string}`,
    l1OriginCheck: (checks.originCheck ?? hashOf(last.epochNumber)).slice(0, 42) as `0x${string}`,
    span: {
      blockCount: spanBlocks.length,
      transactionCount: 0,
      firstTimestamp: first.timestamp,
      lastTimestamp: last.timestamp,
      firstEpochNumber: first.epochNumber,
      lastEpochNumber: last.epochNumber,
      *blocks() {
        yield* spanBlocks;
      },
    },
  };
  const context: BatchContext = { config: rollup, l1Blocks, l2SafeHead: ref(50), inclusion };
  const payload = (number: number): ExecutionPayload => {
    const { l1Origin, timestamp, hash, parentHash } = ref(number);
    const origin = { number: l1Origin.number, hash: hexToBytes(l1Origin.hash), timestamp: 0, baseFeePerGas: 0n, blobBaseFee: 0n };
    const info = l1InfoDeposit(rollup, origin, rollup.genesis.systemConfig, 0, timestamp);
    return {
      blockHash: hexToBytes(hash),
      parentHash: hexToBytes(parentHash),
      blockNumber: number,
      timestamp,
      transactions: [encodeTransaction(info), ...safe],
    } as unknown as ExecutionPayload;
  };
  const l2 = {
    blockRefByNumber: async (number: number) => (number >= 10 && number <= 50 ? ref(number) : undefined),
    payloadByNumber: async (number: number) => (number >= 10 && number <= 50 ? payload(number) : undefined),
  };
  return { context, read, l2 };
}

const shown = (verdict: BatchVerdict) => ("reason" in verdict ? `${verdict.kind} ${verdict.reason}` : verdict.kind);

const PREFIX_CASES: [string, Case, string][] = [
  ["1 no L1 blocks", { l1Blocks: [] }, "undecided no-l1-blocks"],
  ["2 next origin unknown", { l1Blocks: [l1(100)], blocks: [[1022, 101]] }, "undecided next-origin-unknown"],
  ["3 before Delta, by the first origin", { forks: { ...forksUpTo("canyon"), delta: 1001 } }, "drop span-before-delta"],
  ["3 at Delta", { forks: { ...forksUpTo("canyon"), delta: 1000 } }, "accept"],
  ["3 at Delta, by the next origin", { forks: { ...forksUpTo("canyon"), delta: 1012 }, blocks: [[1022, 101]] }, "accept"],
  ["4 future", { blocks: [[1024, 100]], parentCheck: l2Hash(51) }, "future"],
  ["4 future, Holocene", { forks: HOLOCENE, blocks: [[1024, 100]], parentCheck: l2Hash(51) }, "drop timestamp-in-future"],
  [
    "5 past",
    {
      blocks: [
        [1018, 100],
        [1020, 100],
      ],
    },
    "drop timestamp-in-past",
  ],
  [
    "5 past, Holocene",
    {
      forks: HOLOCENE,
      blocks: [
        [1018, 100],
        [1020, 100],
      ],
    },
    "past",
  ],
  [
    "6 begins between the safe head and the next block",
    {
      blocks: [
        [1021, 100],
        [1023, 100],
      ],
      parentCheck: l2Hash(50),
    },
    "drop span-misaligned",
  ],
  [
    "6 begins between safe blocks",
    {
      blocks: [
        [1019, 100],
        [1023, 100],
      ],
      parentCheck: l2Hash(49),
    },
    "drop span-misaligned",
  ],
  [
    "7 begins at the genesis",
    {
      config: { seqWindowSize: 1000 },
      blocks: [
        [940, 94],
        [1022, 100],
      ],
      parentCheck: l2Hash(9),
    },
    "drop span-misaligned",
  ],
  [
    "7 begins after the genesis",
    {
      config: { seqWindowSize: 1000 },
      blocks: [
        [942, 94],
        [1022, 100],
      ],
      parentCheck: l2Hash(10),
    },
    "accept",
  ],
  ["8 another parent", { parentCheck: hashOf(1) }, "drop span-parent-mismatch"],
  [
    "8 another parent in the safe chain",
    {
      blocks: [
        [1018, 100],
        [1022, 100],
      ],
      parentCheck: hashOf(1),
    },
    "drop span-parent-mismatch",
  ],
  ["9 the last block of the window", { inclusion: l1(100 + WINDOW) }, "accept"],
  ["9 one block after the window", { inclusion: l1(101 + WINDOW) }, "drop included-too-late"],
  ["10 begins two origins after its parent's", { blocks: [[1022, 102]] }, "drop epoch-too-new"],
  ["11 another hash of the last origin", { originCheck: hashOf(1) }, "drop span-origin-mismatch"],
  [
    "12 last origin unknown",
    {
      l1Blocks: [l1(100)],
      blocks: [
        [1022, 100],
        [1024, 101],
      ],
    },
    "undecided end-origin-unknown",
  ],
  [
    "13 begins before its parent's origin",
    {
      blocks: [
        [1022, 99],
        [1024, 100],
      ],
    },
    "drop epoch-too-old",
  ],
  [
    "overlaps the safe chain",
    {
      blocks: [
        [1018, 100],
        [1020, 100],
        [1022, 100],
      ],
    },
    "accept",
  ],
];

// docs/protocol/02-derivation.md#span-batch-checks
describe("span batch prefix: rules 1 to 13", () => {
  it.each(PREFIX_CASES)("%s", async (_, each, expected) => {
    const { context, read, l2 } = setUp(each);
    const { verdict, parent } = await checkSpanPrefix(context, read, l2);
    expect(shown(verdict)).toBe(expected);
    expect(parent === undefined).toBe(expected !== "accept");
  });

  it("gives the block that the span builds on", async () => {
    const { context, read, l2 } = setUp({
      blocks: [
        [1018, 100],
        [1020, 100],
        [1022, 100],
      ],
    });
    expect((await checkSpanPrefix(context, read, l2)).parent?.number).toBe(48);
  });

  it("leaves a missing or failing L2 block to a later try", async () => {
    const { context, read } = setUp({
      blocks: [
        [1018, 100],
        [1022, 100],
      ],
    });
    const none = { blockRefByNumber: async () => undefined, payloadByNumber: async () => undefined };
    await expect(checkSpanPrefix(context, read, none)).rejects.toThrow(
      expect.objectContaining({ code: "derivation/l2-block-missing" }),
    );
    const failing = { ...none, blockRefByNumber: () => Promise.reject(new Error("timeout")) };
    await expect(checkSpanPrefix(context, read, failing)).rejects.toThrow("timeout");
    await expect(checkSpanOverlap(context, read, ref(48), none)).rejects.toThrow(
      expect.objectContaining({ code: "derivation/l2-block-missing" }),
    );
  });
});

describe("whole span batch before Holocene", () => {
  it.each(PREFIX_CASES.filter(([, { forks }, expected]) => forks !== HOLOCENE && expected !== "accept"))(
    "%s",
    async (_, each, expected) => {
      const { context, read, l2 } = setUp(each);
      expect(shown(await checkWholeSpan(context, read, l2))).toBe(expected);
    },
  );

  const drift = (maxSequencerDriftSec: number): Case => ({ forks: DELTA, config: { maxSequencerDriftSec } });
  it.each<[string, Case, string]>([
    ["fits", {}, "accept"],
    [
      "14 a block after the safe head with an older epoch",
      {
        blocks: [
          [1020, 99],
          [1022, 99],
          [1024, 100],
        ],
        parentCheck: l2Hash(49),
        l1Blocks: [l1(99), l1(100)],
      },
      "drop epoch-too-old",
    ],
    [
      "14 a block after the safe head with an older epoch, in a span that begins before that of the safe head",
      {
        blocks: [
          [1010, 99],
          [1022, 99],
          [1024, 100],
        ],
        l1Blocks: [l1(99), l1(100)],
      },
      "drop epoch-too-old",
    ],
    [
      "14 an origin that is not known",
      {
        l1Blocks: [l1(101), l1(102)],
        blocks: [
          [1022, 100],
          [1024, 101],
        ],
      },
      "drop span-origin-missing",
    ],
    ["14 older than its origin", { l1Blocks: [l1(100), l1(101, 1025)] }, "drop before-l1-origin"],
    ["14 beyond the drift", { ...drift(21), blocks: [[1022, 100]] }, "drop exceeds-sequencer-drift"],
    ["14 exactly the drift", { ...drift(22), blocks: [[1022, 100]] }, "accept"],
    [
      "14 beyond the drift, empty, next origin unknown",
      { ...drift(1), blocks: [[1022, 100, []]], l1Blocks: [l1(100)] },
      "undecided next-origin-unknown",
    ],
    [
      "14 beyond the drift, empty, next origin to be adopted",
      { ...drift(1), blocks: [[1022, 100, []]] },
      "drop must-advance-origin",
    ],
    [
      "14 beyond the drift, empty, next origin is newer",
      { ...drift(1), blocks: [[1022, 100, []]], l1Blocks: [l1(100), l1(101, 1023)] },
      "accept",
    ],
    [
      "14 beyond the drift, empty, has advanced",
      { ...drift(1), blocks: [[1022, 101, []]], l1Blocks: [l1(100), l1(101), l1(102)] },
      "accept",
    ],
    [
      "14 beyond the drift, empty, has advanced, and the origin after that would be old enough, too",
      { ...drift(1), blocks: [[1022, 101, []]], l1Blocks: [l1(100), l1(101, 1001), l1(102, 1020)] },
      "accept",
    ],
    [
      "14 beyond the drift, empty, has not advanced in its second block",
      {
        ...drift(1),
        blocks: [
          [1022, 101, []],
          [1024, 101, []],
        ],
      },
      "drop must-advance-origin",
    ],
    ["14 an empty transaction", { blocks: [[1022, 100, [new Uint8Array()]]] }, "drop empty-transaction"],
    [
      "14 a deposit in a later block",
      {
        blocks: [
          [1022, 100],
          [1024, 100, [Uint8Array.of(0x7e)]],
        ],
      },
      "drop deposit-transaction",
    ],
    ["14 a set-code transaction", { blocks: [[1022, 100, [Uint8Array.of(4)]]] }, "drop set-code-before-isthmus"],
    ["14 a post-exec transaction", { blocks: [[1022, 100, [Uint8Array.of(0x7d)]]] }, "drop post-exec-before-lagoon"],
    [
      "14 a post-exec transaction in the block before Lagoon",
      {
        forks: { ...forksUpTo("karst"), lagoon: 1026 },
        blocks: [
          [1022, 100],
          [1024, 100, [user, Uint8Array.of(0x7d)]],
        ],
      },
      "drop post-exec-before-lagoon",
    ],
    [
      "14 post-exec transactions in Lagoon",
      { forks: forksUpTo("lagoon"), blocks: [[1022, 100, [Uint8Array.of(0x7d), Uint8Array.of(0x7d, 1)]]] },
      "accept",
    ],
    [
      "14 is not applied to safe blocks",
      {
        blocks: [
          [1020, 100, [user]],
          [1022, 100],
        ],
        config: {},
      },
      "accept",
    ],
    [
      "15 the same blocks in the safe chain",
      {
        blocks: [
          [1018, 100],
          [1020, 100],
          [1022, 100],
        ],
      },
      "accept",
    ],
    ...([
      ["15 a post-exec transaction of the safe chain", [user, POST_EXEC], "accept"],
      ["15 without the safe chain's post-exec transaction", [user], "drop span-overlap-mismatch"],
      [
        "15 with another post-exec transaction than the safe chain",
        [user, Uint8Array.of(0x7d, 0xc1, 2)],
        "drop span-overlap-mismatch",
      ],
      ["15 with the safe chain's post-exec transaction elsewhere", [POST_EXEC, user], "drop span-overlap-mismatch"],
    ].map(([name, transactions, verdict]) => [
      name,
      {
        forks: forksUpTo("lagoon"),
        safe: [user, POST_EXEC],
        blocks: [
          [1020, 100, transactions],
          [1022, 100],
        ],
      },
      verdict,
    ]) as [string, Case, string][]),
    [
      "15 another transaction",
      {
        blocks: [
          [1018, 100],
          [1020, 100, [Uint8Array.of(2, 9)]],
          [1022, 100],
        ],
      },
      "drop span-overlap-mismatch",
    ],
    [
      "15 a transaction too few",
      {
        blocks: [
          [1018, 100, []],
          [1020, 100],
          [1022, 100],
        ],
      },
      "drop span-overlap-mismatch",
    ],
    [
      "15 a transaction too many",
      {
        blocks: [
          [1018, 100],
          [1020, 100, [user, user]],
          [1022, 100],
        ],
      },
      "drop span-overlap-mismatch",
    ],
    [
      "15 another origin",
      {
        blocks: [
          [1010, 99],
          [1022, 100],
        ],
        l1Blocks: [l1(100)],
      },
      "drop span-overlap-mismatch",
    ],
  ])("%s", async (_, each, expected) => {
    const { context, read, l2 } = setUp(each);
    expect(shown(await checkWholeSpan(context, read, l2))).toBe(expected);
  });
});

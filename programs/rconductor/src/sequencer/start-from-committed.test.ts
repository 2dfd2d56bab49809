import { silentLogger } from "@rnode/observe";
import { bytesToHex, type Clock } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { Latest } from "../cluster/commit-store.ts";
import type { HeadRecord } from "../cluster/records.ts";
import { hashOf, samplePayload } from "../testing/sample-payload.ts";
import { startFromCommitted } from "./start-from-committed.ts";

type Block = ExecutionPayloadEnvelope;

const hashHex = ({ executionPayload }: Block): string => bytesToHex(executionPayload.blockHash);

/** `count` consecutive blocks after a parent. @param maker the sequencer that signs them */
function blocksAfter(parent: Block | undefined, count: number, maker: string): Block[] {
  const blocks: Block[] = [];
  for (let tip = parent; blocks.length < count; blocks.push(tip)) {
    const { blockNumber, blockHash } = tip?.executionPayload ?? { blockNumber: 0, blockHash: hashOf("genesis") };
    tip = samplePayload(blockNumber + 1, blockHash, maker);
  }
  return blocks;
}

function setUp(committed: readonly Block[], own: readonly Block[], { keptBlocks = 64, moves = [] as readonly Block[] } = {}) {
  const recordOf = (block: Block) => ({
    number: block.executionPayload.blockNumber,
    hash: hashHex(block),
    l1Origin: { number: 0, hash: "0x" },
    fence: 1,
    chunks: 1,
  });
  const latest = (): Latest => {
    const last = committed.at(-1)!;
    const record: HeadRecord = {
      ...recordOf(last),
      parentHash: bytesToHex(last.executionPayload.parentHash),
      leader: "a",
      recent: committed
        .slice(0, -1)
        .slice(1 - keptBlocks)
        .map(recordOf),
    };
    const after = async (number: number) =>
      number + 1 < (record.recent[0]?.number ?? record.number)
        ? undefined
        : committed.slice(0, -1).filter(({ executionPayload }) => executionPayload.blockNumber > number);
    return { record, envelope: last, after };
  };
  let chain = [...own];
  const comingBlocks = [...moves];
  let nowMs = 0;
  const clock: Clock = {
    unixMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: async (ms) => {
      nowMs += ms;
      const coming = nowMs % 1000 === 0 ? comingBlocks.shift() : undefined;
      if (coming !== undefined) chain.push(coming);
    },
  };
  const commits: number[] = [];
  const replaced: number[] = [];
  const started = startFromCommitted(
    { mayBootstrap: false, postedLimitMs: 10_000, l1ReorgWaitMs: 0, standstillMs: 1_500 },
    {
      latest: async () => latest(),
      rewind: async () => false,
      commit: async (block) => {
        commits.push(block.executionPayload.blockNumber);
        committed = [...committed, block];
      },
      node: {
        unsafeHead: async () => ({ number: chain.at(-1)!.executionPayload.blockNumber, hash: hashHex(chain.at(-1)!) }),
        start: async () => {},
        post: async (block) => {
          const { blockNumber, parentHash } = block.executionPayload;
          if (blockNumber === chain.length + 1 && bytesToHex(parentHash) === hashHex(chain.at(-1)!)) chain.push(block);
        },
        replaceHead: async (block) => {
          const { blockNumber, parentHash } = block.executionPayload;
          replaced.push(blockNumber);
          chain = chain.slice(0, blockNumber - 1);
          expect(hashHex(chain.at(-1)!)).toBe(bytesToHex(parentHash));
          chain.push(block);
        },
        hashOf: async (number) => chain[number - 1] && hashHex(chain[number - 1]!),
        payloadAt: async (number) => chain[number - 1],
        hasL1Replaced: async () => false,
      },
      clock,
      monotonicMs: () => nowMs,
      log: silentLogger,
      isLeader: () => true,
    },
  );
  return { started, commits, replaced, chain: () => chain.map(hashHex), nowMs: () => nowMs };
}

const ours = blocksAfter(undefined, 6, "us");

describe("a sequencer starts from the last committed block", () => {
  it.each([
    ["one block in the place of the last one", blocksAfter(ours[4], 1, "thief"), 5, [6]],
    ["blocks in the place of several, and beyond", blocksAfter(ours[2], 9, "thief"), 3, [4, 5, 6]],
    ["fewer blocks, in another place", blocksAfter(ours[1], 2, "thief"), 2, [3, 4, 5, 6]],
  ])("although the node took %s", async (_, foreign, shared, expected) => {
    const { started, replaced, commits, chain } = setUp(ours, [...ours.slice(0, shared), ...foreign]);
    expect(await started).toMatchObject({ number: 6, hash: hashHex(ours[5]!) });
    expect([replaced, commits]).toEqual([expected, []]);
    expect(chain()).toEqual(ours.map(hashHex));
  });

  it("commits what the node has beyond it first: users may have that", async () => {
    const beyond = blocksAfter(ours[5], 3, "us, without conductor");
    const { started, replaced, commits, nowMs } = setUp(ours, [...ours, ...beyond]);
    expect(await started).toMatchObject({ number: 9, hash: hashHex(beyond[2]!) });
    expect([replaced, commits]).toEqual([[], [7, 8, 9]]);
    expect(nowMs()).toBeGreaterThanOrEqual(1_500);
  });

  it("but not while somebody adds to that, nor more than 64 blocks", async () => {
    const beyond = blocksAfter(ours[5], 20, "us, without conductor");
    const going = setUp(ours, [...ours, ...beyond.slice(0, 2)], { moves: beyond.slice(2) });
    await expect(going.started).rejects.toThrow("another sequencer releases blocks that are not committed");
    const many = setUp(ours, [...ours, ...blocksAfter(ours[5], 65, "us, without conductor")]);
    await expect(many.started).rejects.toThrow("beyond the last committed block 6");
    expect([going.commits, many.commits]).toEqual([[], []]);
  });

  it("not where the node shares none of the blocks that etcd keeps", async () => {
    const { started, replaced } = setUp(ours, [...ours.slice(0, 2), ...blocksAfter(ours[1], 3, "thief")], { keptBlocks: 3 });
    await expect(started).rejects.toThrow("has none of the 3 newest committed blocks");
    expect(replaced).toEqual([]);
  });
});

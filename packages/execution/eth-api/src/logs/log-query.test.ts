import type { PendingBlock, StoredBlock } from "@rnode/chain";
import { JsonText } from "@rnode/jsonrpc";
import { bytesToHex, keccak256, uint64ToBytes } from "@rnode/primitives";
import { parseChainConfig } from "@rnode/protocol";
import { partsOfBlock } from "@rnode/storage";
import { describe, expect, it } from "vitest";
import type { ReadBackend } from "../backend/backend.ts";
import { PendingBlocks } from "../backend/pending-blocks.ts";
import { UNLIMITED_WORK } from "../backend/work.ts";
import type { LogFilter } from "../params/log-filter.ts";
import { PROFILE_G } from "../profile/profile-g.ts";
import { PROFILE_R } from "../profile/profile-r.ts";
import { feeTransaction, JOVIAN_CONFIG, storedBlock } from "../testing/blocks.ts";
import { type LogLimits, queryLogs } from "./log-query.ts";

const EMITTER = new Uint8Array(20).fill(0xe1);
const NO_LIMITS: LogLimits = { maxBlocks: Number.POSITIVE_INFINITY, maxLogs: Number.POSITIVE_INFINITY };
const number = (value: number) => ({ kind: "number", number: value }) as const;
const range = (from: number, to: number): LogFilter => ({
  addresses: undefined,
  topics: [],
  blockHash: undefined,
  fromBlock: number(from),
  toBlock: number(to),
});

/** A block with one log, whose data says which branch the block is on. */
function blockOf(height: number, branch: number): StoredBlock {
  const logs = [{ address: EMITTER, topics: [], data: Uint8Array.of(branch) }];
  const stored = storedBlock([feeTransaction()], { number: height, logs: [logs] });
  return { ...stored, hash: keccak256(uint64ToBytes(BigInt(height * 16 + branch))) };
}

/** A chain of this many blocks; reading a block takes `costMs` on the chain's own clock. */
function chainOf(length: number, costMs: number) {
  let blocks = Array.from({ length }, (_, height) => blockOf(height, 1));
  let reads = 0;
  let ms = 0;
  const chain = {
    config: parseChainConfig(JOVIAN_CONFIG),
    head: () => ({ number: blocks.length - 1, hash: bytesToHex(blocks.at(-1)!.hash) }),
    partsOf: (selector: { kind: string; number: number }) => {
      reads++;
      ms += costMs;
      const block = blocks[selector.number];
      return block && partsOfBlock(block);
    },
  };
  const store = {
    readCanonicalHash: (height: number) => blocks[height]?.hash,
    blocksWithLogs: function* (_: unknown, from: number, to: number) {
      for (let height = from; height <= to; height++) yield height;
    },
    retainedHistory: () => undefined,
  };
  return {
    backend: { profile: PROFILE_R, chain, store } as unknown as ReadBackend,
    nowMs: () => ms,
    reads: () => reads,
    /** adds a block on top of the last one */
    grow: () => blocks.push(blockOf(blocks.length, 1)),
    /** as the last one's child, on this branch */
    pendingOf: (branch: number): PendingBlocks => {
      const { block, ...stored } = blockOf(blocks.length, branch);
      const header = { ...block.header, parentHash: blocks.at(-1)!.hash };
      const pending = new PendingBlocks();
      pending.set({ ...stored, block: { ...block, header } } as PendingBlock);
      return pending;
    },
    reorganise: (from: number) => {
      blocks = blocks.map((block, height) => (height < from ? block : blockOf(height, 2)));
    },
  };
}

const datas = (answer: JsonText): string[] => (JSON.parse(answer.text) as { data: string }[]).map(({ data }) => data);

describe("a log query", () => {
  it("answers at once when it takes little time", () => {
    const { backend, nowMs } = chainOf(40, 0.5); // 20 ms: one slice
    const answer = queryLogs(backend, UNLIMITED_WORK, range(0, 39), NO_LIMITS, nowMs);
    expect(answer).toBeInstanceOf(JsonText);
    expect(datas(answer as JsonText)).toHaveLength(40);
  });

  it("gives way when it takes long", async () => {
    const { backend, reads, nowMs } = chainOf(30, 4);
    const readsAtTurns: number[] = [];
    const count = (): void => {
      readsAtTurns.push(reads());
      timer = setImmediate(count);
    };
    let timer = setImmediate(count);
    const answer = await queryLogs(backend, UNLIMITED_WORK, range(0, 29), NO_LIMITS, nowMs);
    clearImmediate(timer);
    expect(datas(answer)).toEqual(new Array(30).fill("0x01"));
    expect(readsAtTurns).toEqual([6, 12, 18, 24, 30]); // slices of more than 20 ms
  });

  it("begins again when the chain is reorganised meanwhile: what it answers is of one chain", async () => {
    const { backend, reads, reorganise, nowMs } = chainOf(30, 4);
    const answer = queryLogs(backend, UNLIMITED_WORK, range(0, 29), NO_LIMITS, nowMs);
    expect(answer).toBeInstanceOf(Promise);
    reorganise(2);
    expect(datas(await answer)).toEqual(["0x01", "0x01", ...new Array<string>(28).fill("0x02")]);
    expect(reads()).toBe(36); // the first slice was wasted
  });

  it.each([
    ["results", { ...NO_LIMITS, maxLogs: 10 }, 10, /exceeds max results 10, retry with the range 5-14$/],
    ["bytes", { ...NO_LIMITS, maxBytes: 4000 }, undefined, /exceeds max response size 4000 bytes, retry with the range 5-\d+$/],
    ["blocks", { ...NO_LIMITS, maxBlocks: 8 }, undefined, /exceeds max block range 8, retry with the range 5-12$/],
  ])("says which range would pass: too many %s", async (_, limits, count, message) => {
    for (const profile of [PROFILE_R, PROFILE_G]) {
      const { backend, nowMs } = chainOf(60, 0);
      const own = { ...backend, profile };
      let refusal: Error | undefined;
      try {
        await queryLogs(own, UNLIMITED_WORK, range(5, 40), limits, nowMs);
      } catch (error) {
        refusal = error as Error;
      }
      expect(refusal).toMatchObject({ code: profile === PROFILE_R ? -32602 : -32000, message: expect.stringMatching(message) });
      const [from, to] = /(\d+)-(\d+)$/.exec(refusal!.message)!.slice(1).map(Number);
      const passed = datas(await queryLogs(own, UNLIMITED_WORK, range(from!, to!), limits, nowMs));
      expect(passed).toHaveLength(count ?? to! - from! + 1);
    }
  });

  describe("to the block under construction", () => {
    const PENDING = { kind: "tag", tag: "pending" } as const;
    const LATEST = { kind: "tag", tag: "latest" } as const;
    const to = (from: LogFilter["fromBlock"]): LogFilter => ({ ...range(0, 0), fromBlock: from, toBlock: PENDING });
    const started = (length: number) => {
      const chain = chainOf(length, 4);
      const backend = { ...chain.backend, pending: chain.pendingOf(3) };
      return { ...chain, query: () => queryLogs(backend, UNLIMITED_WORK, to(number(0)), NO_LIMITS, chain.nowMs) };
    };

    it("has its logs last, and once, if that block becomes the head meanwhile", async () => {
      const { query, grow } = started(30);
      const answer = query();
      expect(answer).toBeInstanceOf(Promise);
      grow();
      expect(datas(await answer)).toEqual([...new Array<string>(30).fill("0x01"), "0x03"]);
    });

    it("has no logs of it if its parent leaves the chain meanwhile", async () => {
      const { query, reorganise } = started(30);
      const answer = query();
      reorganise(29);
      expect(datas(await answer)).toEqual([...new Array<string>(29).fill("0x01"), "0x02"]);
    });

    it("is refused if it begins there and ends before it", () => {
      const chain = chainOf(3, 0);
      const headerOf = () => ({ header: { number: 2 } });
      const backend = {
        ...chain.backend,
        chain: { ...chain.backend.chain, headerOf },
        pending: chain.pendingOf(3),
      } as unknown as ReadBackend;
      const backwards = { ...to(PENDING), toBlock: LATEST };
      expect(() => queryLogs(backend, UNLIMITED_WORK, backwards, NO_LIMITS)).toThrow("invalid block range params");
      expect(datas(queryLogs(backend, UNLIMITED_WORK, to(PENDING), NO_LIMITS) as JsonText)).toEqual(["0x03"]);
    });
  });
});

import { createMetrics, type Logger } from "@rnode/observe";
import { bytesToHex } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import { chainOfBlocks, gapBetween, isthmusConfig } from "../testing/chain-of-blocks.ts";
import { AnswerError, CheckedPayload } from "./checked-payload.ts";
import type { Answer } from "./payload-requests.ts";
import { requestMetrics } from "./request-metrics.ts";
import { SyncClient } from "./sync-client.ts";

const config = isthmusConfig();
const quiet = { debug() {}, info() {}, warn() {}, error() {}, trace() {} } as unknown as Logger;
const chain = chainOfBlocks(config, 520);
const otherChain = chainOfBlocks(config, 520, { salt: 9 });
const numbersOf = (blocks: readonly ExecutionPayloadEnvelope[]) =>
  blocks.map(({ executionPayload }) => executionPayload.blockNumber);
const range = (from: number, to: number) =>
  Array.from({ length: Math.abs(to - from) + 1 }, (_, i) => (from < to ? from + i : from - i));

interface FakePeer {
  /** default: the chain's */
  readonly blocks?: readonly ExecutionPayloadEnvelope[];
  readonly latencyMs?: (number: number) => number;
  /** replaces the block; `undefined`: the block */
  readonly instead?: (number: number, times: number) => number | Error | "stall" | undefined;
}

/** As long as a request may take. */
const STALL_MS = 20_000;

/** A client with scripted peers, and a clock that only the test moves. */
function start(peers: Readonly<Record<string, FakePeer>>, { mayAsk = () => true }: { mayAsk?: (peer: string) => boolean } = {}) {
  const clock = new SimClock((config.genesis.l2TimeSec + 3_600) * 1_000);
  const startMs = clock.unixMs();
  const asked: { peer: string; number: number; atMs: number }[] = [];
  const received: ExecutionPayloadEnvelope[] = [];
  const scores: Record<string, string[]> = {};
  const score = (kind: string) => (peer: string) => void (scores[peer] ??= []).push(kind);
  const most = { quarantined: 0, bytes: 0 };

  async function ask(peer: string, number: number, signal: AbortSignal): Promise<Answer> {
    const { blocks = chain, latencyMs = () => 20, instead } = peers[peer]!;
    const times = asked.filter((request) => request.peer === peer).length;
    asked.push({ peer, number, atMs: clock.unixMs() - startMs });
    const outcome = instead?.(number, times);
    await clock.sleep(outcome === "stall" ? STALL_MS : latencyMs(number), signal);
    if (signal.aborted || outcome === "stall") throw new Error("the time is over");
    if (outcome instanceof Error) throw outcome;
    if (outcome !== undefined) return { kind: "refused", code: outcome };
    const block = blocks[number - 1];
    if (block === undefined) return { kind: "refused", code: 1 };
    return { kind: "block", block: CheckedPayload.check(config, number, block) };
  }
  const client = new SyncClient({
    config,
    ask,
    mayAsk,
    sink: { accept: (envelope) => received.push(envelope) },
    scores: { onValidResponse: score("valid"), onErrorResponse: score("error"), onRejectedPayload: score("rejected") },
    clock,
    log: quiet,
    metrics: {
      ...requestMetrics(createP2PMetrics(createMetrics({ prefix: "test_" }))),
      quarantined: () => {
        const { count, sizeBytes } = client.quarantined;
        most.quarantined = Math.max(most.quarantined, count);
        most.bytes = Math.max(most.bytes, sizeBytes);
      },
    },
  });
  for (const peer of Object.keys(peers)) client.addPeer(peer);
  const askedOf = (peer: string) => asked.filter((request) => request.peer === peer).map(({ number }) => number);
  const count = (peer: string, kind: string) => (scores[peer] ?? []).filter((entry) => entry === kind).length;
  return { clock, client, asked, askedOf, received, count, most };
}

describe("a waiting block that names a parent that nobody has", () => {
  it("blames none of the peers that send the block of the chain, however often it is asked for", async () => {
    const { client, clock, received, count } = start({ a: {}, b: {}, c: {} });
    const { start: from, end } = gapBetween(chain, 3, 12);
    for (let round = 0; round < 20; round++) {
      client.requestGap({ start: from, end: { ...end, parentHash: new Uint8Array(32).fill(7) } });
      await clock.advance(4_000);
    }
    expect(received).toEqual([]);
    for (const peer of ["a", "b", "c"]) expect(count(peer, "rejected") + count(peer, "error")).toBe(0);
    await client.close();
  });
});

describe("a process that stood still", () => {
  it.each([75_000, 90_000])("for %i ms blames no peer for a request that was under way, and asks it again", async (ms) => {
    const { client, clock, received, count, askedOf } = start({
      a: { latencyMs: () => ms, instead: (_, times) => (times === 0 ? new Error("the time is over") : undefined) },
    });
    client.requestGap(gapBetween(chain, 3, 5));
    await clock.advance(2 * ms + 1_000);
    expect(count("a", "error")).toBe(0);
    expect(askedOf("a")).toEqual([4, 4]);
    expect(received).toEqual([chain[3]]);
    await client.close();
  });
});

describe("walking a gap", () => {
  it("asks for the blocks from the highest down, and hands them over in that order", async () => {
    const { client, clock, received, askedOf, count } = start({ a: {} });
    client.requestGap(gapBetween(chain, 3, 12));
    await clock.advance(1_000);
    expect(askedOf("a")).toEqual(range(11, 4));
    expect(received).toEqual(chain.slice(3, 11).reverse());
    expect(count("a", "valid")).toBe(8);
    expect(client.waitingFor).toBeUndefined();
    await client.close();
  });

  it("shares the numbers out among the peers: each is asked for one at a time, and none is asked for twice", async () => {
    const { client, clock, asked, askedOf, received } = start({ a: {}, b: { latencyMs: () => 30 }, c: { latencyMs: () => 70 } });
    client.requestGap(gapBetween(chain, 0, 31));
    await clock.advance(2_000);
    expect(asked.map(({ number }) => number).sort((x, y) => x - y)).toEqual(range(1, 30));
    for (const peer of ["a", "b", "c"]) expect(askedOf(peer).length).toBeGreaterThan(3);
    expect(numbersOf(received)).toEqual(range(30, 1));
    await client.close();
  });

  it("keeps a block that comes before its child, and hands it over after it", async () => {
    const { client, clock, received } = start({ slow: { latencyMs: () => 2_000 }, quick: {} });
    client.requestGap(gapBetween(chain, 0, 10)); // block 9 is requested from the first peer
    await clock.advance(1_900);
    expect(received).toEqual([]);
    expect(client.quarantined.count).toBe(8);
    await clock.advance(200);
    expect(numbersOf(received)).toEqual(range(9, 1));
    expect(client.quarantined).toEqual({ count: 0, sizeBytes: 0 });
    await client.close();
  });

  it("does nothing where nothing is missing", async () => {
    const { client, clock, asked } = start({ a: {} });
    client.requestGap(gapBetween(chain, 10, 11));
    client.requestGap(gapBetween(chain, 10, 9));
    await clock.advance(10_000);
    expect(asked).toEqual([]);
    await client.close();
  });

  it("drops a request whose lower end is older than twelve hours", async () => {
    const { client, clock, asked } = start({ a: {} });
    await clock.advance(12 * 3_600_000 - 3_600_000 + 20_000 + 1); // block 10 is twelve hours old, and a millisecond
    client.requestGap(gapBetween(chain, 10, 13));
    await clock.advance(1_000);
    expect(asked).toEqual([]);
    client.requestGap(gapBetween(chain, 11, 14));
    await clock.advance(1_000);
    expect(asked.map(({ number }) => number)).toEqual([13, 12]);
    await client.close();
  });

  it("asks static peers only, where the operator wants that", async () => {
    const { client, clock, askedOf } = start({ a: {}, b: {} }, { mayAsk: (peer) => peer === "b" });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(5_000);
    expect(askedOf("a")).toEqual([]);
    expect(askedOf("b")).toEqual(range(9, 1));
    await client.close();
  });

  it("asks others for the block of a peer that leaves", async () => {
    const { client, clock, received } = start({ leaver: { instead: () => "stall" }, b: {} });
    client.requestGap(gapBetween(chain, 0, 6));
    await clock.advance(500);
    client.removePeer("leaver");
    await clock.advance(500);
    expect(numbersOf(received)).toEqual(range(5, 1));
    await client.close();
  });
});

describe("asking again", () => {
  it("for what is on its way changes nothing", async () => {
    const { client, clock, asked, received } = start({ a: {} });
    for (let times = 0; times < 36; times++) {
      client.requestGap(gapBetween(chain, 0, 40));
      await clock.advance(250);
    }
    expect(asked.map(({ number }) => number)).toEqual(range(39, 1));
    expect(received).toHaveLength(39);
    await client.close();
  });

  it("for blocks that were handed over and are still missing fetches them once more, ten seconds later", async () => {
    const { client, clock, received } = start({ a: {} });
    client.requestGap(gapBetween(chain, 0, 4));
    await clock.advance(9_000);
    client.requestGap(gapBetween(chain, 0, 4));
    await clock.advance(900);
    expect(received).toHaveLength(3);
    client.requestGap(gapBetween(chain, 0, 4));
    await clock.advance(900);
    expect(numbersOf(received)).toEqual([3, 2, 1]);
    await clock.advance(1_000);
    client.requestGap(gapBetween(chain, 0, 4));
    await clock.advance(1_000);
    expect(numbersOf(received)).toEqual([3, 2, 1, 3, 2, 1]);
    await client.close();
  });

  it("with a head that has moved up leaves out what is below it", async () => {
    const { client, clock, asked } = start({ a: {} });
    client.requestGap(gapBetween(chain, 0, 100));
    await clock.advance(1_000);
    client.requestGap(gapBetween(chain, 90, 100));
    await clock.advance(20_000);
    expect(Math.min(...asked.map(({ number }) => number))).toBeGreaterThan(80);
    expect(client.waitingFor).toBeUndefined();
    await client.close();
  });

  it("for another range drops the former one without blame, but hands over a late block whose child was trusted", async () => {
    const { client, clock, received, count } = start({ a: { latencyMs: (number) => (number === 49 ? 3_000 : 20) }, b: {} });
    client.requestGap(gapBetween(chain, 0, 50));
    await clock.advance(1_000);
    expect(client.quarantined.count).toBeGreaterThan(5);
    client.requestGap(gapBetween(chain, 0, 3));
    await clock.advance(6_000);
    expect(numbersOf(received).sort((x, y) => x - y)).toEqual([1, 2, 49]);
    expect(client.quarantined.count).toBe(0);
    expect(count("b", "rejected")).toBe(0);
    await client.close();
  });
});

describe("limits of the client", () => {
  it("asks a peer for 15 blocks at once, then for 4 a second", async () => {
    const { client, clock, askedOf } = start({ a: { latencyMs: () => 0 } });
    client.requestGap(gapBetween(chain, 0, 500));
    await clock.advance(0);
    expect(askedOf("a")).toHaveLength(15);
    await clock.advance(10_000);
    expect(askedOf("a")).toHaveLength(15 + 40);
    await client.close();
  });

  it("asks all peers together for 40 blocks at once, then for 20 a second", async () => {
    const peers = Object.fromEntries(range(1, 10).map((i) => [`peer${i}`, { latencyMs: () => 0 }]));
    const { client, clock, asked } = start(peers);
    client.requestGap(gapBetween(chain, 0, 500));
    await clock.advance(0);
    expect(asked).toHaveLength(40);
    await clock.advance(10_000);
    expect(asked.length).toBeGreaterThanOrEqual(40 + 195);
    expect(asked.length).toBeLessThanOrEqual(40 + 200);
    await client.close();
  });

  it("asks for no block that is further below the last trusted one than the quarantine has room for, and blames nobody", async () => {
    const peers = Object.fromEntries(range(1, 8).map((i) => [`peer${i}`, {}]));
    const stalled = Object.fromEntries(
      range(1, 8).map((i) => [`peer${i}`, { instead: (n: number) => (n === 499 ? ("stall" as const) : undefined) }]),
    );
    const { client, clock, asked, most, count, received } = start({ ...peers, ...stalled });
    client.requestGap(gapBetween(chain, 0, 500));
    await clock.advance(19_000);
    expect(Math.min(...asked.map(({ number }) => number))).toBe(400);
    expect(most.quarantined).toBe(99);
    expect(received).toEqual([]);
    for (const peer of Object.keys(peers)) expect(count(peer, "rejected")).toBe(0);
    await client.close();
  });

  it("asks for nothing more while large blocks fill half the quarantine, other than the one that all wait for", async () => {
    const large = chainOfBlocks(config, 15, { blockBytes: 4_000_000 });
    const { client, clock, most, received } = start({ a: { blocks: large }, slow: { blocks: large, latencyMs: () => 60_000 } });
    client.removePeer("a");
    client.requestGap(gapBetween(large, 0, 15)); // block 14 is requested from the slow one
    await clock.advance(0);
    client.addPeer("a");
    await clock.advance(2_900);
    expect(received).toEqual([]);
    expect(most.bytes).toBeGreaterThan(32 * 1024 * 1024);
    expect(most.bytes).toBeLessThan(48 * 1024 * 1024);
    await clock.advance(30_000);
    expect(numbersOf(received)).toEqual(range(14, 1)); // the awaited block was also requested from "a"
    await client.close();
  });
});

describe("peers that do not do as they should", () => {
  it("an error costs 15 tokens, score, and a pause that doubles up to a minute", async () => {
    const { client, clock, asked, count } = start({ a: { latencyMs: () => 0, instead: () => 3 } });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(400_000);
    const pausesMs = asked.slice(1).map(({ atMs }, i) => atMs - asked[i]!.atMs);
    // 14 tokens less 15, 2 less 15, none less 15; from then on the pauses are longer than the time of the tokens
    expect(pausesMs.slice(0, 9)).toEqual([1_000, 3_500, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(count("a", "error")).toBe(asked.length);
    await client.close();
  });

  it("an answer that comes right ends the pauses", async () => {
    const { client, clock, asked } = start({
      a: { latencyMs: () => 0, instead: (_, times) => (times % 2 === 0 ? new Error("reset") : undefined) },
    });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(60_000);
    const pausesMs = asked.slice(1).map(({ atMs }, i) => atMs - asked[i]!.atMs);
    expect(Math.max(...pausesMs)).toBeLessThanOrEqual(4_000);
    await client.close();
  });

  it("a block that does not hash to its block hash costs ten minutes", async () => {
    const lie = new AnswerError("answer/bad-hash", { number: 9 });
    const { client, clock, askedOf, received, count } = start({ liar: { instead: () => lie }, b: {} });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(10_000);
    expect(askedOf("liar")).toHaveLength(1);
    expect(count("liar", "error")).toBe(1);
    expect(numbersOf(received)).toEqual(range(9, 1));
    client.requestGap(gapBetween(chain, 9, 200));
    await clock.advance(585_000);
    expect(askedOf("liar")).toHaveLength(1);
    await client.close();
  });

  it("'not found' costs no score, and the peer is not asked for this range any more", async () => {
    const { client, clock, askedOf, received, count } = start({
      behind: { blocks: chain.slice(0, 2) },
      b: { latencyMs: () => 1_000 },
    });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(20_000);
    expect(askedOf("behind")).toEqual([9]);
    expect(count("behind", "error") + count("behind", "rejected")).toBe(0);
    expect(numbersOf(received)).toEqual(range(9, 1));
    await client.close();
  });

  it("'not found' by everybody ends the range, until it is asked for again", async () => {
    const { client, clock, asked } = start({ a: { blocks: [] }, b: { blocks: [] } });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(60_000);
    expect(asked).toHaveLength(2);
    expect(client.waitingFor).toBeUndefined();
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(1_000);
    expect(asked).toHaveLength(4);
    await client.close();
  });

  it("a block of another chain is rejected at once where the right hash is known, and fetched from somebody else", async () => {
    const { client, clock, received, count, askedOf } = start({ liar: { blocks: otherChain }, b: { latencyMs: () => 30 } });
    client.requestGap(gapBetween(chain, 0, 10));
    await clock.advance(900);
    expect(count("liar", "rejected")).toBe(1);
    expect(askedOf("b")).toContain(9);
    expect(received).toEqual(chain.slice(0, 9).reverse());
    await client.close();
  });

  it("a block of another chain is rejected when its child turns out to name another, and fetched from somebody else", async () => {
    const peers = { slow: { latencyMs: () => 500 }, liar: { blocks: otherChain, latencyMs: () => 10 } };
    const { client, clock, received, count, most } = start(peers);
    client.requestGap(gapBetween(chain, 0, 6));
    await clock.advance(450);
    expect(most.quarantined).toBe(4);
    await clock.advance(10_000);
    expect(received).toEqual(chain.slice(0, 5).reverse());
    expect(count("liar", "rejected")).toBeGreaterThan(0);
    expect(count("slow", "rejected")).toBe(0);
    await client.close();
  });

  it("the block that all wait for is asked of one more peer every three seconds", async () => {
    const stalls: FakePeer = { instead: () => "stall" };
    const { client, clock, asked, received } = start({ s1: stalls, s2: stalls, good: {} });
    client.requestGap(gapBetween(chain, 0, 3));
    await clock.advance(2_999);
    expect(asked.filter(({ number }) => number === 2)).toHaveLength(1);
    await clock.advance(9_000);
    expect(numbersOf(received)).toEqual([2, 1]);
    await client.close();
  });
});

describe("a node 500 blocks behind", () => {
  const LIES = new AnswerError("answer/bad-hash", {});
  const helpers: readonly [string, FakePeer][] = [
    ["is as good as the other", {}],
    ["stalls", { instead: () => "stall" }],
    ["lies about hashes", { instead: () => LIES }],
    ["sends another chain", { blocks: otherChain }],
    ["sends another chain below the first blocks", { blocks: [...otherChain.slice(0, 450), ...chain.slice(450)] }],
    ["has nothing", { blocks: [] }],
    ["stalls every third time", { instead: (_, times) => (times % 3 === 0 ? "stall" : undefined) }],
    ["refuses", { instead: () => 3 }],
  ];

  it.each(helpers)("catches up from two peers of which one %s", async (_, helper) => {
    const { client, clock, received, most, count } = start({ helper, honest: { latencyMs: () => 50 } });
    const startMs = clock.unixMs();
    client.requestGap(gapBetween(chain, 0, 501));
    while (client.waitingFor !== undefined && clock.unixMs() - startMs < 600_000) {
      await clock.advance(4_000);
      const lowest = received.at(-1)?.executionPayload.blockNumber ?? 501;
      if (lowest > 1) client.requestGap(gapBetween(chain, 0, lowest)); // as the driver does
    }
    expect(received.map(({ executionPayload }) => bytesToHex(executionPayload.blockHash))).toEqual(
      chain
        .slice(0, 500)
        .reverse()
        .map(({ executionPayload }) => bytesToHex(executionPayload.blockHash)),
    );
    // one peer gives 4 blocks a second after the first 15
    expect(clock.unixMs() - startMs).toBeLessThan(((500 - 15) / 4) * 1_000 + 25_000);
    expect(most.quarantined).toBeLessThan(100);
    expect(count("honest", "rejected") + count("honest", "error")).toBe(0);
    await client.close();
  });
});

import { createMetrics, type Logger } from "@rnode/observe";
import { SimClock } from "@rnode/program/testing";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { createP2PMetrics } from "../p2p-metrics.ts";
import { chainOfBlocks, isthmusConfig } from "../testing/chain-of-blocks.ts";
import { encodeRequest, encodeResponse } from "../wire/payload-by-number.ts";
import { PayloadServer } from "./payload-server.ts";
import { RequestLimits } from "./request-limits.ts";
import { requestMetrics } from "./request-metrics.ts";
import { StreamEnded, type WireStream } from "./wire-stream.ts";

const config = isthmusConfig();
const chain = chainOfBlocks(config, 40);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, trace() {} } as unknown as Logger;

/** The other end of a stream. */
class FakeStream implements WireStream {
  private readonly ended = new AbortController();
  private readonly request: Uint8Array | undefined;
  private readonly reads: boolean;
  readonly written: Uint8Array[] = [];
  /** bytes written to the stream, read or not */
  offered = 0;
  isClosed = false;
  resetBecause: string | undefined;

  /** @param request `undefined`: never sent. @param reads false: reads nothing */
  constructor(request: Uint8Array | undefined, reads = true) {
    this.request = request;
    this.reads = reads;
  }

  get gone(): AbortSignal {
    return this.ended.signal;
  }

  get result(): number | undefined {
    return this.written[0]?.[0];
  }

  async read(onData: (chunk: Uint8Array) => boolean, signal: AbortSignal): Promise<void> {
    if (this.request === undefined) return this.untilAborted(signal);
    for (const byte of this.request) if (!onData(Uint8Array.of(byte))) return;
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    this.offered += bytes.length;
    if (this.gone.aborted) throw new StreamEnded("gone");
    if (!this.reads) return this.untilAborted(signal);
    this.written.push(bytes);
  }

  async closeWrite(): Promise<void> {
    this.isClosed = true;
  }

  reset(reason: string): void {
    this.resetBecause ??= reason;
    this.ended.abort();
  }

  private untilAborted(signal: AbortSignal): Promise<never> {
    return new Promise((_, reject) => {
      const end = (): void => reject(new StreamEnded("ended"));
      signal.addEventListener("abort", end);
      this.gone.addEventListener("abort", end);
    });
  }
}

function start({
  payloadByNumber = async (number: number): Promise<ExecutionPayloadEnvelope | undefined> => chain[number - 1],
} = {}) {
  // block 30 is due
  const clock = new SimClock((config.genesis.l2TimeSec + 60) * 1_000);
  const lookups: number[] = [];
  const server = new PayloadServer({
    config,
    payloadByNumber: (number) => {
      lookups.push(number);
      return payloadByNumber(number);
    },
    clock,
    log: quiet,
    metrics: requestMetrics(createP2PMetrics(createMetrics({ prefix: "test_" }))),
  });
  const send = (peer: string, request: number | Uint8Array | undefined, reads = true): FakeStream => {
    const stream = new FakeStream(typeof request === "number" ? encodeRequest(request) : request, reads);
    void server.handle(stream, peer);
    return stream;
  };
  const sendMany = (count: number, peer: (i: number) => string, request: number | undefined = 5) =>
    Array.from({ length: count }, (_, i) => send(peer(i), request));
  return { clock, server, send, sendMany, lookups };
}

const answered = (streams: readonly FakeStream[], code = 0): number => streams.filter(({ result }) => result === code).length;

describe("results", () => {
  it("0 and the block, where there is one; then the stream is closed", async () => {
    const { clock, send } = start();
    const stream = send("a", 5);
    await clock.advance(0);
    expect(stream.written).toEqual([encodeResponse(config.forkTimes, chain[4]!)]);
    expect([stream.isClosed, stream.resetBecause]).toEqual([true, undefined]);
  });

  it("1 for a block that this node does not have", async () => {
    const { clock, send } = start({ payloadByNumber: async () => undefined });
    const stream = send("a", 5);
    await clock.advance(0);
    expect(stream.written).toEqual([Uint8Array.of(1)]);
  });

  it("2 for a block that is not due yet, and for numbers beyond all bounds", async () => {
    const { clock, send, lookups } = start();
    const streams = [send("a", 30), send("b", 31), send("c", Number.MAX_SAFE_INTEGER), send("d", new Uint8Array(8).fill(255))];
    await clock.advance(0);
    expect(streams.map(({ result }) => result)).toEqual([0, 2, 2, 2]);
    await clock.advance(2_000);
    const later = send("e", 31);
    await clock.advance(0);
    expect(later.result).toBe(0);
    expect(lookups).toEqual([30, 31]);
  });

  it("2 for a block before genesis", async () => {
    const clock = new SimClock((config.genesis.l2TimeSec + 60) * 1_000);
    const genesis = { ...config.genesis, l2: { ...config.genesis.l2, number: 100 } };
    const server = new PayloadServer({
      config: { ...config, genesis },
      payloadByNumber: async () => undefined,
      clock,
      log: quiet,
      metrics: requestMetrics(createP2PMetrics(createMetrics({ prefix: "test_" }))),
    });
    const streams = [99, 100, 130, 131].map((number) => {
      const stream = new FakeStream(encodeRequest(number));
      void server.handle(stream, "a");
      return stream;
    });
    await clock.advance(0);
    expect(streams.map(({ result }) => result)).toEqual([2, 1, 1, 2]);
  });

  it("3 when the engine cannot be asked, and the next request asks it again", async () => {
    let isDown = true;
    const { clock, send } = start({
      payloadByNumber: async (number) => {
        if (isDown) throw new Error("the engine is down");
        return chain[number - 1];
      },
    });
    const [first, second] = [send("a", 5), send("b", 5)];
    await clock.advance(0);
    expect([first.result, second.result]).toEqual([3, 3]);
    isDown = false;
    const third = send("a", 5);
    await clock.advance(0);
    expect(third.result).toBe(0);
  });

  it("3 for a request that ends before its eight bytes; what follows them is not read", async () => {
    const { clock, send } = start();
    const short = send("a", encodeRequest(5).subarray(0, 7));
    const long = send("b", Buffer.concat([encodeRequest(5), encodeRequest(6)]));
    await clock.advance(0);
    expect(short.written).toEqual([Uint8Array.of(3)]);
    expect(long.written).toEqual([encodeResponse(config.forkTimes, chain[4]!)]);
  });
});

describe("times", () => {
  it("3 to who does not send the number within 10 seconds", async () => {
    const { clock, send } = start();
    const stream = send("a", undefined);
    await clock.advance(9_999);
    expect(stream.written).toEqual([]);
    await clock.advance(1);
    expect(stream.written).toEqual([Uint8Array.of(3)]);
  });

  it("3 when there is no answer within 20 seconds", async () => {
    const { clock, send } = start({ payloadByNumber: () => new Promise(() => {}) });
    const stream = send("a", 5);
    await clock.advance(19_999);
    expect(stream.written).toEqual([]);
    await clock.advance(1);
    expect(stream.written).toEqual([Uint8Array.of(3)]);
  });

  it("who does not read the answer within 10 seconds is cut", async () => {
    const { clock, send } = start();
    const stream = send("a", 5, false);
    await clock.advance(9_999);
    expect(stream.resetBecause).toBeUndefined();
    await clock.advance(1);
    expect(stream.resetBecause).toMatch(/does not read/);
  });
});

describe("rates", () => {
  it("40 requests of all peers at once, then 20 a second", async () => {
    const { clock, sendMany } = start();
    const streams = sendMany(100, (i) => `peer${i}`);
    await clock.advance(0);
    expect(answered(streams)).toBe(40);
    await clock.advance(1_000);
    expect(answered(streams)).toBe(60);
    await clock.advance(2_000);
    expect(answered(streams)).toBe(100);
  });

  it("15 requests of a peer at once, then 4 a second", async () => {
    const { clock, sendMany } = start();
    const first = sendMany(15, () => "a");
    await clock.advance(0);
    expect(answered(first)).toBe(15);
    const next = sendMany(12, () => "a");
    await clock.advance(0);
    expect(answered(next)).toBe(0);
    await clock.advance(2_000);
    expect(answered(next)).toBe(8);
    await clock.advance(1_000);
    expect(answered(next)).toBe(12);
    await clock.advance(100_000); // nothing is saved up beyond the burst
    const later = sendMany(16, () => "a");
    await clock.advance(0);
    expect(answered(later)).toBe(15);
  });

  it("a thousand peers are remembered, those that asked last", async () => {
    const clock = new SimClock(0);
    const limits = new RequestLimits(clock);
    const passing = Array.from({ length: 1_200 }, (_, i) => limits.pass(`peer${i}`, new AbortController().signal));
    await clock.advance(60_000);
    expect(new Set(await Promise.all(passing))).toEqual(new Set([true]));
    expect(limits.trackedPeers).toBe(1_000);
  });

  it("a peer that asks without end slows down nobody but itself", async () => {
    const { clock, send, sendMany } = start();
    let floods = 0;
    for (let second = 0; second < 20; second++) {
      // the maximum number of streams, and one that is refused
      const flood = sendMany(17, () => "flooder");
      await clock.advance(1_000);
      floods += answered(flood);
      for (const stream of flood) stream.reset("impatient");
      const honest = send("honest", 5);
      await clock.advance(0);
      expect(honest.result).toBe(0);
    }
    expect(floods).toBeLessThanOrEqual(15 + 20 * 4);
    expect(floods).toBeGreaterThan(70);
  });

  it("peers that leave while they wait take nothing", async () => {
    const { clock, send, sendMany } = start();
    const impatient = sendMany(200, (i) => `impatient${i}`);
    await clock.advance(0);
    for (const stream of impatient) stream.reset("impatient");
    await clock.advance(1_000); // 20 tokens are available again; disconnected peers use none
    const honest = Array.from({ length: 20 }, (_, i) => send(`honest${i}`, 5));
    await clock.advance(0);
    expect(answered(honest)).toBe(20);
  });
});

describe("what the server holds", () => {
  it("16 streams of a peer; more are reset until one has ended", async () => {
    const { clock, sendMany } = start();
    const waiting = sendMany(16, () => "a", undefined);
    const [refused] = sendMany(1, () => "a");
    const [other] = sendMany(1, () => "b");
    await clock.advance(0);
    expect(refused!.resetBecause).toMatch(/too many/);
    expect(other!.result).toBe(0);
    waiting[0]!.reset("gone");
    await clock.advance(0);
    const [next] = sendMany(1, () => "a");
    expect(next!.resetBecause).toBeUndefined();
  });

  it("256 streams in all", async () => {
    const { clock, sendMany } = start();
    const waiting = sendMany(256, (i) => `peer${i % 32}`, undefined);
    const [refused] = sendMany(1, () => "late");
    await clock.advance(0);
    expect(waiting.every(({ resetBecause }) => resetBecause === undefined)).toBe(true);
    expect(refused!.resetBecause).toMatch(/too many/);
    await clock.advance(60_000);
    const [served] = sendMany(1, () => "late");
    await clock.advance(0);
    expect(served!.result).toBe(0);
  });

  it("the answers of two block times: a block that many ask for is read from the engine once", async () => {
    const { clock, sendMany, lookups } = start({
      payloadByNumber: async (number) => {
        await clock.sleep(1_000);
        return chain[number - 1];
      },
    });
    const streams = sendMany(40, (i) => `peer${i}`);
    await clock.advance(4_999);
    expect(answered(streams)).toBe(40);
    sendMany(1, () => "still");
    await clock.advance(0);
    expect(lookups).toEqual([5]);
    await clock.advance(1);
    sendMany(1, () => "late");
    await clock.advance(0);
    expect(lookups).toEqual([5, 5]);
  });

  it("no answer that the node does not have: it is looked for each time", async () => {
    const { clock, sendMany, lookups } = start({ payloadByNumber: async () => undefined });
    sendMany(1, () => "a");
    await clock.advance(0);
    sendMany(1, () => "a");
    await clock.advance(0);
    expect(lookups).toEqual([5, 5]);
  });

  it("4 questions to the engine at a time", async () => {
    let open = 0;
    let most = 0;
    const { clock, send } = start({
      payloadByNumber: async (number) => {
        most = Math.max(most, ++open);
        await clock.sleep(100);
        open--;
        return chain[number - 1];
      },
    });
    const streams = Array.from({ length: 20 }, (_, i) => send(`peer${i}`, i + 1));
    await clock.advance(499);
    expect(answered(streams)).toBe(16);
    await clock.advance(1);
    expect([most, answered(streams)]).toEqual([4, 20]);
  });

  it("64 MiB of answers that are being sent and 16 MiB of those to a peer; what does not fit waits for its turn", async () => {
    // incompressible data has the same size on the wire
    const noise = new Uint8Array(9 * 1024 * 1024);
    for (let i = 0, state = 1; i < noise.length; i++)
      noise[i] = (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 24;
    const { executionPayload, ...rest } = chain[0]!;
    const large = { ...rest, executionPayload: { ...executionPayload, transactions: [noise] } };
    const { clock, send } = start({ payloadByNumber: async () => large });
    const ofOne = [send("a", 1, false), send("a", 1, false)];
    await clock.advance(0);
    expect(ofOne.filter(({ offered }) => offered > 0)).toHaveLength(1);
    const others = Array.from({ length: 8 }, (_, i) => send(`peer${i}`, 1, false));
    await clock.advance(0);
    expect(others.filter(({ offered }) => offered > 0)).toHaveLength(6);
    await clock.advance(10_000); // the slow ones are cut
    expect([...ofOne, ...others].filter(({ offered }) => offered > 0)).toHaveLength(10);
  });

  it("nothing after it has been closed", async () => {
    const { clock, send, server } = start();
    const waiting = send("a", undefined);
    await clock.advance(0);
    server.close();
    await clock.advance(0);
    expect(waiting.resetBecause).toMatch(/closing/);
    expect(send("b", 5).resetBecause).toMatch(/too many/);
  });
});

import { concatBytes } from "@rnode/primitives";
import { SimClock } from "@rnode/program/testing";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { chainOfBlocks, isthmusConfig } from "../testing/chain-of-blocks.ts";
import { sealed } from "../testing/test-blocks.ts";
import { encodeRequest, encodeResponse } from "../wire/payload-by-number.ts";
import { encodeSnappyFrames } from "../wire/snappy-frames.ts";
import { PayloadRequests } from "./payload-requests.ts";
import { StreamEnded, type WireStream } from "./wire-stream.ts";

const config = isthmusConfig();
const chain = chainOfBlocks(config, 3);
const NEVER = new AbortController().signal;
const response = (envelope: ExecutionPayloadEnvelope): Uint8Array => encodeResponse(config.forkTimes, envelope);

type Piece = Uint8Array | { readonly waitMs: number };

/** A stream whose other end follows a script: it sends pieces, waits in between, and at the end closes or waits on. */
class ScriptedStream implements WireStream {
  private readonly ended = new AbortController();
  private readonly clock: SimClock;
  private readonly script: readonly Piece[];
  private readonly stallsAt: "write" | "end" | undefined;
  readonly written: Uint8Array[] = [];
  resetBecause: string | undefined;

  constructor(clock: SimClock, script: readonly Piece[], stallsAt?: "write" | "end") {
    this.clock = clock;
    this.script = script;
    this.stallsAt = stallsAt;
  }

  get gone(): AbortSignal {
    return this.ended.signal;
  }

  async read(onData: (chunk: Uint8Array) => boolean, signal: AbortSignal): Promise<void> {
    for (const piece of this.script) {
      if ("waitMs" in piece) await this.clock.sleep(piece.waitMs, signal);
      this.check(signal);
      if (!("waitMs" in piece) && !onData(piece)) return;
      await Promise.resolve();
    }
    if (this.stallsAt === "end") await this.clock.sleep(1e9, signal);
    this.check(signal);
    this.ended.abort();
  }

  async write(bytes: Uint8Array, signal: AbortSignal): Promise<void> {
    if (this.stallsAt === "write") await this.clock.sleep(1e9, signal);
    this.check(signal);
    this.written.push(bytes);
  }

  async closeWrite(): Promise<void> {}

  reset(reason: string): void {
    this.resetBecause ??= reason;
    this.ended.abort();
  }

  private check(signal: AbortSignal): void {
    if (signal.aborted || this.gone.aborted) throw new StreamEnded("ended");
  }
}

function start(script: readonly Piece[] = [], stallsAt?: "write" | "end") {
  const clock = new SimClock(0);
  const stream = new ScriptedStream(clock, script, stallsAt);
  const requests = new PayloadRequests({ config, clock, open: async () => stream });
  return { clock, stream, requests };
}

/** The result of a request for block 2, and its duration in milliseconds. */
async function ask({ clock, requests }: ReturnType<typeof start>) {
  const done: { outcome?: unknown; atMs?: number } = {};
  const settle = (outcome: unknown): void => void Object.assign(done, { outcome, atMs: clock.unixMs() });
  requests.ask("peer", 2, NEVER).then(settle, settle);
  await clock.advance(60_000);
  return done;
}

describe("asking a peer for a block", () => {
  it("sends the number, and takes the block from pieces of any length", async () => {
    const answer = response(chain[1]!);
    const node = start([answer.subarray(0, 1), answer.subarray(1, 6), answer.subarray(6, 100), answer.subarray(100)]);
    const { outcome } = await ask(node);
    expect(outcome).toMatchObject({ kind: "block", block: { number: 2 } });
    expect((outcome as { block: { envelope: unknown } }).block.envelope).toEqual(chain[1]);
    expect(node.stream.written).toEqual([encodeRequest(2)]);
    expect(node.stream.resetBecause).toBeUndefined();
    expect(node.requests.memory.usedBytes).toBe(0);
  });

  it.each([1, 2, 3, 127, 255])("takes result %i for an answer, even if more follows, as kona sends it", async (code) => {
    const { outcome } = await ask(start([Uint8Array.of(code, 0)]));
    expect(outcome).toEqual({ kind: "refused", code });
  });

  const changed = (fields: Partial<ExecutionPayload>) => ({
    ...chain[1]!,
    executionPayload: { ...chain[1]!.executionPayload, ...fields },
  });
  const withdrawal = { index: 0n, validatorIndex: 0n, address: new Uint8Array(20), amount: 1n };
  it.each<[string, Uint8Array, string]>([
    ["another block of the chain", response(chain[2]!), "answer/wrong-number"],
    ["another time than the block's number has", response(sealed(config, changed({ timestamp: 1 }))), "answer/wrong-time"],
    ["other content than the block hash is of", response(changed({ gasUsed: 5n })), "answer/bad-hash"],
    ["other transactions than the block hash is of", response(changed({ transactions: [] })), "answer/bad-hash"],
    [
      "another beacon root than the block hash is of",
      response({ ...chain[1]!, parentBeaconBlockRoot: new Uint8Array(32) }),
      "answer/bad-hash",
    ],
    [
      "a withdrawal, which the hash does not cover",
      response(sealed(config, changed({ withdrawals: [withdrawal] }))),
      "answer/withdrawals",
    ],
    ["a version that does not exist", Uint8Array.of(0, 2, 0, 0, 0), "response/unknown-version"],
    ["no SSZ", concatBytes(Uint8Array.of(0, 1, 0, 0, 0), encodeSnappyFrames(new Uint8Array(1_000))), "ssz/bad-offset"],
    ["half of an answer", response(chain[1]!).subarray(0, 300), "frames/truncated"],
    ["nothing", new Uint8Array(0), "response/truncated"],
  ])("refuses %s", async (_, answer, code) => {
    expect((await ask(start([answer]))).outcome).toMatchObject({ code });
  });

  it("resets a stream whose answer goes on after it has turned out to be wrong", async () => {
    const node = start([Uint8Array.of(0, 9, 0, 0, 0)], "end");
    expect((await ask(node)).outcome).toMatchObject({ code: "response/unknown-version" });
    expect(node.stream.resetBecause).toBeDefined();
  });

  it("gives up opening a stream after 5 seconds", async () => {
    const clock = new SimClock(0);
    const open = (_: string, signal: AbortSignal): Promise<WireStream> =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    const requests = new PayloadRequests({ config, clock, open });
    expect(await ask({ clock, requests } as ReturnType<typeof start>)).toMatchObject({ atMs: 5_000, outcome: expect.any(Error) });
  });

  it("gives up sending the request after 10 seconds", async () => {
    const node = start([], "write");
    expect(await ask(node)).toMatchObject({ atMs: 10_000, outcome: expect.any(StreamEnded) });
    expect(node.stream.resetBecause).toBeDefined();
  });

  it("gives up an answer that is not complete after 10 seconds, even if a byte arrives every second", async () => {
    const answer = response(chain[1]!);
    const drip = Array.from(answer).flatMap((byte) => [{ waitMs: 1_000 }, Uint8Array.of(byte)]);
    expect(await ask(start(drip))).toMatchObject({ atMs: 10_000, outcome: expect.any(StreamEnded) });
  });

  it("gives up when the peer is gone", async () => {
    const { clock, requests } = start([], "end");
    const gone = new AbortController();
    const asked = requests.ask("peer", 2, gone.signal);
    await clock.advance(10);
    gone.abort();
    await expect(asked).rejects.toThrow(StreamEnded);
  });

  it("of many answers that swell, gives up those that hold most, and finishes the small ones", async () => {
    const clock = new SimClock(0);
    // 10 MiB each, of half a megabyte on the wire
    const swelling = concatBytes(Uint8Array.of(0, 1, 0, 0, 0), encodeSnappyFrames(new Uint8Array(10 * 1024 * 1024)));
    let most = 0;
    const requests = new PayloadRequests({
      config,
      clock,
      open: async (peer) =>
        peer === "honest"
          ? new ScriptedStream(clock, [{ waitMs: 2_000 }, response(chain[1]!)])
          : new ScriptedStream(clock, [{ waitMs: Number(peer) }, swelling, { waitMs: 5_000 }]),
    });
    const ends: string[] = [];
    const liars = Array.from({ length: 8 }, (_, i) =>
      requests.ask(String(i), 2, NEVER).catch((error: unknown) => {
        most = Math.max(most, requests.memory.usedBytes);
        ends.push(error instanceof StreamEnded ? "given up" : "wrong");
      }),
    );
    const honest = requests.ask("honest", 2, NEVER);
    await clock.advance(20_000);
    await Promise.all(liars);
    expect(await honest).toMatchObject({ kind: "block" });
    expect(ends.filter((end) => end === "given up")).toHaveLength(4);
    expect(ends).toHaveLength(8);
    expect(most).toBeLessThanOrEqual(48 * 1024 * 1024);
    expect(requests.memory.usedBytes).toBe(0);
  });
});

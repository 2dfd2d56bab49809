import type { Stream } from "@libp2p/interface";
import { describe, expect, it } from "vitest";
import { FrameMemory, FrameReader } from "./inbound-frames.ts";

/** The used part of a stream. */
class FakeStream extends EventTarget {
  readStatus: "readable" | "paused" = "readable";
  aborted: Error | undefined;
  pauses = 0;

  pause(): void {
    this.readStatus = "paused";
    this.pauses++;
  }
  resume(): void {
    this.readStatus = "readable";
  }
  abort(error: Error): void {
    this.aborted = error;
    this.dispatchEvent(Object.assign(new Event("close"), { error }));
  }
  deliver(data: Uint8Array): void {
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }
  end(): void {
    this.dispatchEvent(new Event("remoteCloseWrite"));
  }
}

function setUp({ maxBytes = 1000, memory = new FrameMemory(1_000_000) } = {}) {
  const stream = new FakeStream();
  const reader = new FrameReader(stream as unknown as Stream, memory, maxBytes);
  const frames = reader.read();
  const first = frames.next();
  return { stream, frames, first, memory };
}

const frame = (length: number, byte = 7): Uint8Array => {
  const prefix =
    length < 128
      ? [length]
      : length < 16_384
        ? [(length & 127) | 128, length >> 7]
        : [(length & 127) | 128, ((length >> 7) & 127) | 128, length >> 14];
  const bytes = new Uint8Array(prefix.length + length).fill(byte);
  bytes.set(prefix);
  return bytes;
};

describe("frames of a stream", () => {
  it("come whole, however they were cut", async () => {
    for (const size of [1, 2, 3, 7, 1000]) {
      const { stream, frames, first } = setUp();
      const sent = [frame(5), frame(0), frame(300, 9), frame(127)];
      const all = Uint8Array.from(sent.flatMap((each) => [...each]));
      for (let at = 0; at < all.length; at += size) stream.deliver(all.subarray(at, at + size));
      stream.end();
      const read = [(await first).value];
      for await (const each of frames) read.push(each);
      expect(read).toEqual(sent);
    }
  });

  it("end the stream where one is too long, before its data come", async () => {
    const { stream, first } = setUp();
    stream.deliver(frame(1001).subarray(0, 2));
    await expect(first).rejects.toThrow("a message of 1001 bytes, at most 1000 are allowed");
    expect(stream.aborted).toBeDefined();
  });

  it("end the stream where the length has no end", async () => {
    const { stream, first } = setUp();
    stream.deliver(new Uint8Array(4).fill(0xff));
    await expect(first).rejects.toThrow("has no end");
  });

  it("hold a peer back while they are not taken, and let it go on afterwards", async () => {
    const { stream, frames, first } = setUp({ maxBytes: 50_000 });
    stream.deliver(frame(10));
    await first;
    stream.deliver(frame(40_000));
    expect(stream.readStatus).toBe("readable");
    stream.deliver(frame(40_000));
    expect(stream.readStatus).toBe("paused");
    await frames.next();
    await frames.next();
    void frames.next();
    await Promise.resolve();
    expect([stream.readStatus, stream.pauses]).toEqual(["readable", 1]);
  });

  it("take memory for what has come, and not for what is announced", () => {
    const { stream, memory } = setUp({ maxBytes: 10_000_000, memory: new FrameMemory(20_000_000) });
    stream.deliver(frame(1_000_000).subarray(0, 10));
    expect(memory.heldBytes).toBeLessThan(5000);
    stream.deliver(new Uint8Array(100_000));
    expect(memory.heldBytes).toBeLessThan(200_001);
  });

  it("of all peers take a bounded amount: who holds most is given up", async () => {
    const memory = new FrameMemory(250_000);
    const [small, large, other] = [1, 2, 3].map(() => setUp({ maxBytes: 200_000, memory }));
    const failed = expect(large!.first).rejects.toThrow("this one most");
    small!.stream.deliver(frame(60_000).subarray(0, 50_000));
    large!.stream.deliver(frame(150_000).subarray(0, 130_000));
    other!.stream.deliver(frame(100_000).subarray(0, 90_000));
    await failed;
    expect([small!.stream.aborted, other!.stream.aborted]).toEqual([undefined, undefined]);
    expect(memory.heldBytes).toBeLessThan(250_000);
    small!.stream.deliver(frame(60_000).subarray(50_000));
    expect((await small!.first).value).toEqual(frame(60_000));
  });

  it("give back their memory when the stream ends", async () => {
    const { stream, frames, first, memory } = setUp();
    stream.deliver(frame(500));
    stream.deliver(frame(500).subarray(0, 100));
    await first;
    expect(memory.heldBytes).toBeGreaterThan(500);
    stream.end();
    expect((await frames.next()).done).toBe(true);
    expect(memory.heldBytes).toBe(0);
  });
});

import { describe, expect, it } from "vitest";
import { Channel } from "./channel.ts";
import type { Frame } from "./frame.ts";

const id = new Uint8Array(16).fill(1);
const frame = (number: number, isLast = false, data = [number]): Frame => ({
  channelId: id,
  number,
  data: Uint8Array.from(data),
  isLast,
});

describe("channel", () => {
  it.each<[string, Frame[], number[]]>([
    ["in order", [frame(0), frame(1), frame(2, true)], [0, 1, 2]],
    ["in any order", [frame(2, true), frame(0), frame(1)], [0, 1, 2]],
    ["one frame", [frame(0, true, [7, 8])], [7, 8]],
    ["higher frames before the last one are deleted", [frame(3), frame(2), frame(0), frame(1, true)], [0, 1]],
  ])("is ready: %s", (_, frames, content) => {
    const channel = new Channel(id, 10, false);
    for (const [i, each] of frames.entries()) {
      expect(channel.isReady).toBe(false);
      expect(channel.add(each)).toEqual({ kind: "added" });
      expect(channel.isReady).toBe(i === frames.length - 1);
    }
    expect([...channel.content()]).toEqual(content);
  });

  it.each<[string, Frame[], Frame, string]>([
    ["another channel's frame", [frame(0)], { ...frame(1), channelId: new Uint8Array(16) }, "wrong-channel"],
    ["a second last frame", [frame(2, true)], frame(1, true), "second-last"],
    ["a duplicate", [frame(0)], frame(0, false, [9]), "duplicate"],
    ["a frame after the last", [frame(1, true)], frame(2), "after-last"],
  ])("drops %s", (_, before, dropped, reason) => {
    const channel = new Channel(id, 10, false);
    for (const each of before) channel.add(each);
    expect(channel.add(dropped)).toEqual({ kind: "dropped", reason });
  });

  it("takes only the next frame when order is required", () => {
    const channel = new Channel(id, 10, true);
    expect(channel.add(frame(1)).kind).toBe("added"); // the assembler ensures that a channel begins with frame 0
    const ordered = new Channel(id, 10, true);
    ordered.add(frame(0));
    expect(ordered.add(frame(2))).toEqual({ kind: "dropped", reason: "out-of-order" });
    expect(ordered.add(frame(1, true)).kind).toBe("added");
    expect(ordered.isReady).toBe(true);
  });

  it("counts 200 bytes a frame, and nothing of what was there when a last frame deletes others", () => {
    const channel = new Channel(id, 10, false);
    channel.add(frame(0, false, [1, 2, 3]));
    channel.add(frame(3));
    expect(channel.sizeBytes).toBe(203 + 201);
    channel.add(frame(1, true, [1, 2]));
    expect(channel.sizeBytes).toBe(202);
    expect(channel.isReady).toBe(true);
  });

  it("times out after the timeout, not at it", () => {
    const channel = new Channel(id, 100, false);
    expect(channel.isTimedOut(150, 50)).toBe(false);
    expect(channel.isTimedOut(151, 50)).toBe(true);
  });
});

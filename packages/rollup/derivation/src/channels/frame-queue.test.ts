import type { Frame } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { pruneFrames } from "./frame-queue.ts";

/** "a0 a1! b0": channel and number of each frame; ! marks the last of its channel. */
const parse = (text: string): Frame[] =>
  text
    .split(" ")
    .filter((part) => part !== "")
    .map((part) => ({
      channelId: new Uint8Array(16).fill(part.charCodeAt(0)),
      number: Number(part.slice(1).replace("!", "")),
      data: new Uint8Array(),
      isLast: part.endsWith("!"),
    }));
const show = ({ channelId, number, isLast }: Frame) => `${String.fromCharCode(channelId[0]!)}${number}${isLast ? "!" : ""}`;

describe("frames of one batcher transaction, Holocene", () => {
  it.each<[string, string, string, string]>([
    ["none", "", "", ""],
    ["one, whatever it is", "a5", "a5", ""],
    ["in order", "a0 a1 a2!", "a0 a1 a2!", ""],
    ["channels one after the other", "a0! b0 b1!", "a0! b0 b1!", ""],
    ["a gap", "a0 a2 a1", "a0 a1", "a2 out-of-order"],
    ["a gap that stays", "a0 a2 a3", "a0", "a2 out-of-order, a3 out-of-order"],
    ["the first frame after the 65,536th: numbers have 16 bits", "a65534 a65535 a0 a1!", "a65534 a65535 a0 a1!", ""],
    ["the first frame after the 65,535th", "a65534 a0 a65535!", "a65534 a65535!", "a0 out-of-order"],
    ["a duplicate", "a0 a0 a1!", "a0 a1!", "a0 out-of-order"],
    ["after the last", "a0! a1 a0", "a0!", "a1 after-last, a0 after-last"],
    ["a channel that does not begin", "a0! b1 b2!", "a0!", "b1 not-first, b2! not-first"],
    ["a channel that is replaced", "a0 a1 b0 b1!", "b0 b1!", "a1 channel-replaced, a0 channel-replaced"],
    ["the end of a channel whose beginning was before", "a3 b0!", "b0!", "a3 channel-replaced"],
    ["a closed channel stays", "a0! b0 b1 c0!", "a0! c0!", "b1 channel-replaced, b0 channel-replaced"],
    ["several replaced", "a0 b0 c0!", "c0!", "a0 channel-replaced, b0 channel-replaced"],
    ["a foreign frame in between", "a0 b5 a1!", "a0 a1!", "b5 not-first"],
    ["a replaced channel does not come back", "a0 b0 a1 b1!", "b0 b1!", "a0 channel-replaced, a1 not-first"],
  ])("%s", (_, frames, kept, dropped) => {
    const list = parse(frames);
    const drops: string[] = [];
    pruneFrames(list, (frame, reason) => drops.push(`${show(frame)} ${reason}`));
    expect(list.map(show).join(" ")).toBe(kept);
    expect(drops.join(", ")).toBe(dropped);
  });
});

import { describe, expect, it } from "vitest";
import { encodeFrames, FrameReader } from "./frames.ts";
import type { MessageToReader, MessageToWriter } from "./messages.ts";

type Message = MessageToReader | MessageToWriter;

const bytes = (length: number, first = 1): Uint8Array => Uint8Array.from({ length }, (_, index) => (first + index) % 256);
const MESSAGES: readonly Message[] = [
  { kind: "call", id: 0, text: '{"jsonrpc":"2.0"}', reader: undefined },
  { kind: "call", id: 2 ** 32 - 1, text: "é€😀", reader: 3 },
  { kind: "answer", id: 7, text: "" },
  { kind: "submit", id: 8, raw: bytes(110), sender: bytes(20), terms: undefined },
  { kind: "submit", id: 9, raw: bytes(40), sender: undefined, terms: undefined },
  {
    kind: "submit",
    id: 10,
    raw: bytes(40),
    sender: bytes(20),
    terms: { conditional: { knownAccounts: [], blockNumberMin: 5n } as never },
  },
  { kind: "submit", id: 12, raw: bytes(40), sender: bytes(20), terms: { mustBeReady: true } },
  { kind: "accepted", id: 11, hash: bytes(32) },
  { kind: "ready" },
  { kind: "pong", connections: [1, 2], isIdle: false, load: 0.25 },
  { kind: "metrics", values: [{ value: 2n ** 70n }] },
  { kind: "answer", id: 12, text: "x".repeat(70_000) },
];

/** Decodes bytes that arrive in parts of the given size, all in the same buffer. */
function received(sent: Buffer, partBytes: number): Message[] {
  const found: Message[] = [];
  const reader = new FrameReader<Message>((message) => found.push(message));
  const shared = Buffer.alloc(partBytes);
  for (let at = 0; at < sent.length; at += partBytes) {
    const size = sent.copy(shared, 0, at, at + partBytes);
    reader.read(shared.subarray(0, size));
    shared.fill(0xee);
  }
  return found;
}

describe("frames", () => {
  const sent = encodeFrames(MESSAGES);

  it.each([1, 2, 3, 8, 9, 10, 64, 4096, 65_536, sent.length])("come out as they went in, in parts of %d bytes", (partBytes) => {
    expect(received(sent, partBytes)).toEqual(MESSAGES);
  });

  it("are found whole in what comes between them", () => {
    const found: Message[] = [];
    const reader = new FrameReader<Message>((message) => found.push(message));
    const [first, second] = [encodeFrames(MESSAGES.slice(0, 1)), encodeFrames(MESSAGES.slice(1, 2))];
    reader.read(Buffer.concat([first, second.subarray(0, 5)]));
    expect(found).toEqual(MESSAGES.slice(0, 1));
    reader.read(second.subarray(5));
    expect(found).toEqual(MESSAGES.slice(0, 2));
  });

  it.each([
    ["of an unknown kind", Buffer.from([5, 0, 0, 0, 99, 0, 0, 0, 0])],
    ["that V8 cannot read", Buffer.from([6, 0, 0, 0, 0, 0, 0, 0, 0, 1])],
    ["shorter than its own head", Buffer.from([1, 0, 0, 0, 1])],
  ])("fail %s", (_, sent) => {
    expect(() => received(sent, sent.length)).toThrow();
  });

  it("own their bytes", () => {
    const [message] = received(encodeFrames([MESSAGES[3]!]), 4096) as [Extract<Message, { kind: "submit" }>];
    expect(message.raw.buffer.byteLength).toBe(110);
    expect(message.raw.constructor).toBe(Uint8Array);
  });
});

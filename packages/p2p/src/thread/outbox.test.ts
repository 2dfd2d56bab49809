import { SentLogger } from "@rnode/peering";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type FromThread,
  LOG_LINES,
  MAX_LOG_LINES,
  MAX_PAYLOAD_BYTES,
  MAX_PAYLOADS,
  PAYLOAD_BYTES,
  PAYLOADS,
  SHARED_COUNT,
} from "./messages.ts";
import { Outbox } from "./outbox.ts";

let shared: Int32Array<SharedArrayBuffer>;
let sent: FromThread[];
let outbox: Outbox;
beforeEach(() => {
  shared = new Int32Array(new SharedArrayBuffer(4 * SHARED_COUNT));
  sent = [];
  outbox = new Outbox(shared, (message) => sent.push(message));
});
const block = (length: number) => ({ version: 4, bytes: { length, buffer: new ArrayBuffer(0) } }) as never;

describe("what the thread sends by itself", () => {
  it("is dropped beyond so many bytes of blocks, until the process has taken some", () => {
    expect(outbox.payload(block(MAX_PAYLOAD_BYTES - 10), "a")).toBe(true);
    expect(outbox.payload(block(11), "a")).toBe(false);
    expect(outbox.payload(block(10), "a")).toBe(true);
    Atomics.sub(shared, PAYLOAD_BYTES, MAX_PAYLOAD_BYTES - 10);
    expect(outbox.payload(block(11), "a")).toBe(true);
    expect(sent).toHaveLength(3);
  });

  it("is dropped beyond so many blocks", () => {
    const taken = Array.from({ length: MAX_PAYLOADS + 1 }, () => outbox.payload(block(1), "a"));
    expect(taken.filter(Boolean)).toHaveLength(MAX_PAYLOADS);
    Atomics.sub(shared, PAYLOADS, 1);
    expect(outbox.payload(block(1), "a")).toBe(true);
  });

  it("is dropped beyond so many lines of the log, errors excepted", () => {
    for (let i = 0; i < MAX_LOG_LINES + 5; i++) outbox.line({ level: "debug", text: "x", fields: {} });
    outbox.line({ level: "error", text: "e", fields: {} });
    expect(sent).toHaveLength(MAX_LOG_LINES + 1);
    Atomics.sub(shared, LOG_LINES, 10);
    outbox.line({ level: "info", text: "x", fields: {} });
    expect(sent).toHaveLength(MAX_LOG_LINES + 2);
  });
});

describe("lines of the log", () => {
  it("are sent from the level on that the process has, with what can cross", () => {
    const log = new SentLogger("info", (line) => outbox.line(line), { part: "p2p" });
    const child = log.child({ peer: "a" });
    child.debug("not this one");
    child.warn("failed", { error: new Error("why"), bytes: Uint8Array.of(1), many: [1, 2], call: () => 1 });
    log.level = "debug";
    child.debug("but this one");
    expect(structuredClone(sent)).toEqual([
      {
        kind: "log",
        level: "warn",
        text: "failed",
        fields: {
          part: "p2p",
          peer: "a",
          error: expect.stringContaining("why"),
          bytes: Uint8Array.of(1),
          many: "[1,2]",
          call: "() => 1",
        },
      },
      { kind: "log", level: "debug", text: "but this one", fields: { part: "p2p", peer: "a" } },
    ]);
  });
});

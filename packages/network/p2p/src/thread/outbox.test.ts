import { beforeEach, describe, expect, it } from "vitest";
import { COUNTERS, type FromThread, MAX_PAYLOAD_BYTES, MAX_PAYLOADS, PAYLOAD_BYTES, PAYLOADS } from "./messages.ts";
import { Outbox } from "./outbox.ts";

let shared: Int32Array<SharedArrayBuffer>;
let sent: FromThread[];
let outbox: Outbox;
beforeEach(() => {
  shared = new Int32Array(new SharedArrayBuffer(4 * COUNTERS));
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
});

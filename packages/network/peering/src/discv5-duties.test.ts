import { describe, expect, it } from "vitest";
import { doDiscv5Duties } from "./discv5-duties.ts";

// The library does not export them.
const MESSAGES = new URL("./message/index.js", import.meta.resolve("@chainsafe/discv5")).href;
const { decode, encode, MessageType } = (await import(MESSAGES)) as {
  readonly decode: (bytes: Uint8Array) => { readonly id: bigint };
  readonly encode: (message: object) => Uint8Array;
  readonly MessageType: { readonly PING: number; readonly TALKRESP: number };
};

const ping = (...id: number[]): Uint8Array => {
  const item = id.length === 1 && id[0]! < 0x80 ? id : [0x80 + id.length, ...id];
  return Uint8Array.from([1, 0xc0 + item.length + 1, ...item, 0x80]);
};

describe("discv5", () => {
  // The library is patched when it is installed: without it, these fail.
  it.each([[[]], [[0]], [[0, 0]], [[0, 1]], [[1]], [[0, 2, 3, 4, 5, 6, 7, 8]], [[255, 2, 3, 4, 5, 6, 7, 8]]])(
    "answers with the request id %j as it was (scripts/patch-libraries.mjs)",
    (id) => {
      const request = decode(ping(...id));
      expect(request).toMatchObject({ type: MessageType.PING, enrSeq: 0n });
      const answer = encode({ type: MessageType.TALKRESP, id: request.id, response: new Uint8Array() });
      expect([...answer.subarray(2, -1)]).toEqual([...ping(...id).subarray(2, -1)]);
    },
  );

  it("refuses a request id of more than 8 bytes (scripts/patch-libraries.mjs)", () => {
    expect(() => decode(ping(1, 2, 3, 4, 5, 6, 7, 8, 9))).toThrow("invalid message");
  });

  it("answers requests of all protocols with nothing, and asks new nodes one by one whether they are there", async () => {
    const listeners = new Map<string, (...args: unknown[]) => void>();
    const done: unknown[] = [];
    const service = {
      on: (event: string, listener: (...args: unknown[]) => void) => listeners.set(event, listener),
      sendTalkResp: (to: unknown, id: bigint, payload: Uint8Array) => Promise.resolve(done.push(["talk", to, id, payload.length])),
      sendPing: async (record: unknown) => {
        done.push(["ping", record]);
        throw new Error("nobody is there");
      },
    };
    const ending = new AbortController();
    let sleeps = 0;
    const sleep = () => {
      if (++sleeps === 1) {
        listeners.get("talkReqReceived")!("a node", null, { id: 7n });
        for (let i = 0; i < 100; i++) listeners.get("enrAdded")!(i);
      }
      if (sleeps > 80) ending.abort();
      return Promise.resolve();
    };
    await doDiscv5Duties(service as never, { sleep }, ending.signal);
    expect(done[0]).toEqual(["talk", "a node", 7n, 0]);
    expect(done.slice(1)).toEqual(Array.from({ length: 64 }, (_, i) => ["ping", i]));
  });
});

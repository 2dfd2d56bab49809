import type { PooledTransaction } from "@rnode/txpool";
import { describe, expect, it } from "vitest";
import type { MessageToReader } from "./messages.ts";
import { ReaderRelay } from "./reader-relay.ts";
import { errorAnswer } from "./routing.ts";

const NOT_FOUND = { code: -32000, message: "filter not found" };
const REFUSED = errorAnswer(NOT_FOUND);
const HASH = new Uint8Array(32).fill(7);

/** A relay between readers 0 and 1, with what each was sent and the number of listeners to the pool. */
function setUp() {
  let listeners = 0;
  let tell: (transactions: readonly PooledTransaction[]) => void = () => {};
  const relay = new ReaderRelay({
    answer: async (text) => `answer to ${text}`,
    submit: async ({ raw }) => (raw.length === 0 ? "an error" : HASH),
    pending: {
      onPending: (listener) => {
        listeners++;
        tell = listener;
        return () => void listeners--;
      },
    },
    filterNotFound: NOT_FOUND,
  });
  const sent: MessageToReader[][] = [[], []];
  const connect = (reader: number): void => relay.connect(reader, { push: (message) => void sent[reader]!.push(message) });
  connect(0);
  connect(1);
  return { relay, sent, connect, listeners: () => listeners, tell: () => tell([]) };
}
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("the relay between readers and the writer", () => {
  it("answers what belongs to the writer", async () => {
    const { relay, sent } = setUp();
    relay.receive(0, { kind: "call", id: 5, text: "a request" });
    relay.receive(0, { kind: "submit", id: 6, raw: Uint8Array.of(1), sender: undefined, terms: undefined });
    relay.receive(0, { kind: "submit", id: 7, raw: new Uint8Array(0), sender: undefined, terms: undefined });
    relay.close(); // pending requests are still answered
    relay.receive(1, { kind: "call", id: 8, text: "another" });
    await settled();
    expect(sent).toEqual([
      [
        { kind: "answer", id: 5, text: "answer to a request" },
        { kind: "accepted", id: 6, hash: HASH },
        { kind: "answer", id: 7, text: "an error" },
      ],
      [{ kind: "answer", id: 8, text: "answer to another" }],
    ]);
  });

  it("brings a question to the reader that keeps the filter, and its answer back to who asked", () => {
    const { relay, sent } = setUp();
    relay.receive(0, { kind: "call", id: 5, text: "a question", reader: 1 });
    const [asked] = sent[1]!;
    expect(asked).toMatchObject({ kind: "call", text: "a question" });
    const { id } = asked as { id: number };
    relay.receive(1, { kind: "answer", id, text: "an answer" });
    relay.receive(1, { kind: "answer", id, text: "nobody waits for this one" });
    expect(sent[0]).toEqual([{ kind: "answer", id: 5, text: "an answer" }]);
  });

  it("knows no filter of a reader that has ended, before or while it was asked", () => {
    const { relay, sent, connect } = setUp();
    relay.receive(0, { kind: "call", id: 5, text: "a question", reader: 1 });
    relay.disconnect(1);
    expect(sent[0]).toEqual([{ kind: "answer", id: 5, text: REFUSED }]);
    relay.receive(0, { kind: "call", id: 6, text: "a question", reader: 1 });
    expect(sent[0]!.slice(1)).toEqual([{ kind: "answer", id: 6, text: REFUSED }]);
    connect(1);
    relay.receive(1, { kind: "answer", id: 0, text: "of the process before" });
    expect(sent[0]).toHaveLength(2);
  });

  it("listens to the pool while a reader wants it", () => {
    const { relay, sent, listeners, tell } = setUp();
    relay.receive(0, { kind: "watch", id: 1, isOn: true });
    relay.receive(1, { kind: "watch", id: 1, isOn: true });
    expect(listeners()).toBe(1);
    tell();
    relay.receive(0, { kind: "watch", id: 2, isOn: false });
    expect(listeners()).toBe(1);
    tell();
    relay.disconnect(1);
    expect(listeners()).toBe(0);
    const done = (id: number) => ({ kind: "answer", id, text: "" });
    const pending = { kind: "pending", transactions: [] };
    expect(sent).toEqual([
      [done(1), pending, done(2)],
      [done(1), pending, pending],
    ]);
    relay.receive(0, { kind: "watch", id: 3, isOn: true });
    relay.close();
    expect(listeners()).toBe(0);
  });
});

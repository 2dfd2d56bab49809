import { PROFILE_G } from "@rnode/eth-api";
import { describe, expect, it } from "vitest";
import type { MessageToWriter } from "./messages.ts";
import { WriterLink } from "./writer-link.ts";

/** A link whose messages nobody carries on. */
function linkOf() {
  const sent: MessageToWriter[] = [];
  const outbox = { push: (message: MessageToWriter) => void sent.push(message) };
  return { sent, link: new WriterLink(outbox, PROFILE_G, 0n) };
}
const isSettled = async (promise: Promise<unknown> | undefined): Promise<boolean> => {
  let settled = promise === undefined;
  void promise?.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
};

describe("a reader's link to the writer", () => {
  it("listens to pending transactions once the writer has said that it sends them", async () => {
    const { sent, link } = linkOf();
    const heard: unknown[] = [];
    expect(link.isListening()).toBeUndefined();
    const stop = link.onPending((transactions) => heard.push(transactions));
    const stopOther = link.onPending(() => {});
    expect(sent).toEqual([{ kind: "watch", id: 0, isOn: true }]);
    expect(await isSettled(link.isListening())).toBe(false);
    link.onAnswer(0, "");
    expect(await isSettled(link.isListening())).toBe(true);
    expect(link.isListening()).toBeUndefined();
    link.announcePending([]);
    expect(heard).toEqual([[]]);
    stop();
    expect(sent).toHaveLength(1);
    stopOther();
    link.onPending(() => {});
    expect(sent.slice(1)).toEqual([
      { kind: "watch", id: 1, isOn: false },
      { kind: "watch", id: 2, isOn: true },
    ]);
    link.onAnswer(1, ""); // of the end; the beginning is not answered yet
    expect(await isSettled(link.isListening())).toBe(false);
    link.onAnswer(2, "");
    expect(await isSettled(link.isListening())).toBe(true);
  });

  it("gives an answer to who asked, whatever the order", async () => {
    const { sent, link } = linkOf();
    const [first, second] = [link.ask("a"), link.ask("b", 1)];
    expect(sent).toEqual([
      { kind: "call", id: 0, text: "a", reader: undefined },
      { kind: "call", id: 1, text: "b", reader: 1 },
    ]);
    link.onAnswer(1, "B");
    link.onAnswer(0, "A");
    expect(await Promise.all([first, second])).toEqual(["A", "B"]);
  });
});

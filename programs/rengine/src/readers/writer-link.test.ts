import { PROFILE_G } from "@rnode/eth-api";
import { feeTransaction, storedBlock } from "@rnode/eth-api/testing";
import { bytesToHex } from "@rnode/primitives";
import { encodeBlock } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import type { MessageToWriter } from "./messages.ts";
import { WriterLink } from "./writer-link.ts";

/** A link whose messages go nowhere. */
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
    link.onAnswer(1, ""); // the answer to the end of watching; its start has not been answered yet
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

  it("asks for nonces and bad blocks with the methods that answer users", async () => {
    const { sent, link } = linkOf();
    const sender = new Uint8Array(20).fill(0xaa);
    const { block, hash } = storedBlock([feeTransaction()]);
    const nonce = link.nextNonceOf(sender);
    const found = link.badBlock(hash);
    const missing = link.badBlock(new Uint8Array(32));
    const request = (method: string, ...params: string[]) => JSON.stringify({ jsonrpc: "2.0", id: 0, method, params });
    expect(sent.map((message) => "text" in message && message.text)).toEqual([
      request("eth_getTransactionCount", bytesToHex(sender), "pending"),
      request("debug_getBadBlocks"),
      request("debug_getBadBlocks"),
    ]);
    const answered = (result: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 0, result });
    const kept = [{ hash: bytesToHex(hash), rlp: bytesToHex(encodeBlock(block)) }];
    link.onAnswer(0, answered("0x7"));
    link.onAnswer(1, answered(kept));
    link.onAnswer(2, answered(kept));
    expect(await nonce).toBe(7n);
    expect(encodeBlock((await found)!)).toEqual(encodeBlock(block));
    expect(await missing).toBeUndefined();
  });
});

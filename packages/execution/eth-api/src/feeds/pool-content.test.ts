import { LIMIT_EXCEEDED } from "@rnode/jsonrpc";
import type { PooledTransaction, SenderContent } from "@rnode/txpool";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { PoolContentText } from "./pool-content.ts";

let nowMs = 0;
beforeEach(() => {
  nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});
afterEach(() => vi.restoreAllMocks());

const pooled = (nonce: bigint) => ({ transaction: { nonce } }) as PooledTransaction;
const sender = (byte: number, pending: number, queued: number): SenderContent => ({
  sender: new Uint8Array([byte]),
  pending: Array.from({ length: pending }, (_, index) => pooled(BigInt(index))),
  queued: Array.from({ length: queued }, (_, index) => pooled(BigInt(100 + index))),
});
const addressText = (address: Uint8Array): string => `0x${address[0]}`;

it("the pool's content is by sender and nonce", async () => {
  const text = new PoolContentText(addressText, ({ transaction }) => `"tx ${transaction.nonce}"`);
  const { text: json } = await text.of(() => [sender(1, 2, 1), sender(2, 0, 1), sender(3, 0, 0)]);
  expect(JSON.parse(json)).toEqual({
    pending: { "0x1": { 0: "tx 0", 1: "tx 1" } },
    queued: { "0x1": { 100: "tx 100" }, "0x2": { 100: "tx 100" } },
  });
  expect((await text.of(() => [])).text).toBe('{"pending":{},"queued":{}}');
});

it("it is made in slices; whoever asks meanwhile gets one that is made afterwards, once for all", async () => {
  let made = 0;
  const text = new PoolContentText(addressText, () => {
    nowMs++;
    made++;
    return "1";
  });
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  count();
  const first = text.of(() => [sender(1, 50, 50)]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(made).toBeLessThan(10);
  let asked = 0;
  const content = (): SenderContent[] => {
    asked++;
    return [sender(2, 1, 0)];
  };
  const later = [text.of(content), text.of(content), text.of(content)];
  expect((await first).text).toContain('"0x1"');
  for (const one of later) expect((await one).text).toBe('{"pending":{"0x2":{"0":1}},"queued":{}}');
  isOver = true;
  expect(asked).toBe(1);
  expect(made).toBe(101);
  expect(turns).toBeGreaterThan(40);
});

it("what is too long is refused before all of it is made, and the next is answered", async () => {
  let made = 0;
  const show = (): string => `"${"x".repeat(100)}${made++}"`;
  const text = new PoolContentText(addressText, show, { maxLength: 1000 });
  await expect(text.of(() => [sender(1, 1000, 0)])).rejects.toMatchObject({ code: LIMIT_EXCEEDED });
  expect(made).toBeLessThan(12);
  expect((await text.of(() => [sender(1, 1, 0)])).text).toContain("xxx");
});

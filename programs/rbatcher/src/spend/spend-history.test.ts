import { describe, expect, it } from "vitest";
import { DAY_MS, pastPayments } from "./spend-history.ts";

const BLOCK_SEC = 12;
const DAY_BLOCKS = DAY_MS / 1000 / BLOCK_SEC;
const ETHER = 10n ** 18n;

/** @param changes of the balance, by block; @param states only from this block on */
function chain(head: number, changes: Readonly<Record<number, bigint>>, states = 0) {
  let requests = 0;
  const l1 = {
    head: async () => ({ number: head, hash: "0x", parentHash: "0x", timestamp: head * BLOCK_SEC }) as never,
    accountAfter: async (_: Uint8Array, number: number) => {
      requests++;
      if (number < states || number > head) return undefined;
      let balanceWei = 1000n * ETHER;
      for (const [block, wei] of Object.entries(changes)) if (Number(block) <= number) balanceWei += wei;
      return { balanceWei, timestampSec: number * BLOCK_SEC };
    },
  };
  const clock = { unixMs: () => head * BLOCK_SEC * 1000 };
  return { read: () => pastPayments(l1, new Uint8Array(20), clock), requests: () => requests };
}

const sum = (payments: readonly { readonly wei: bigint }[]): bigint => payments.reduce((all, { wei }) => all + wei, 0n);

describe("what an account has paid in the last day", () => {
  it("is what its balance has lost, and counts no shorter than it should", async () => {
    const head = 100_000;
    const at = (minutesAgo: number): number => head - (minutesAgo * 60) / BLOCK_SEC;
    const { read, requests } = chain(head, {
      [at(26 * 60)]: -ETHER, // older than a day
      [at(20 * 60)]: -2n * ETHER,
      [at(50)]: -4n * ETHER,
      [at(49)]: -8n * ETHER,
      [at(5)]: -16n * ETHER,
    });
    const { payments, sinceMs } = await read();
    expect(sum(payments)).toBe(30n * ETHER);
    expect(head * BLOCK_SEC * 1000 - sinceMs).toBe(DAY_MS);
    const minutesAgo = payments.map(({ atMs }) => (head * BLOCK_SEC - atMs / 1000) / 60);
    expect(minutesAgo[0]).toBeGreaterThan(19 * 60 - 1);
    expect(minutesAgo[0]).toBeLessThanOrEqual(20 * 60);
    for (const each of minutesAgo.slice(1)) expect(each <= 5 || (each > 39 && each <= 50)).toBe(true);
    expect(requests()).toBeLessThan(100);
  });

  it("is known although ether has arrived", async () => {
    const { read, requests } = chain(100_000, { 97000: -ETHER, 98000: 50n * ETHER, 98020: -2n * ETHER, 99990: -ETHER });
    expect(sum((await read()).payments)).toBe(4n * ETHER);
    expect(requests()).toBeLessThan(100);
  });

  it("is known as far back as L1 has states", async () => {
    const { read } = chain(100_000, { 99800: -ETHER, 99900: -2n * ETHER }, 99_873);
    const { payments, sinceMs } = await read();
    expect(sum(payments)).toBe(2n * ETHER);
    expect(sinceMs).toBe(99_873 * BLOCK_SEC * 1000);
  });

  it("is all there is on a chain younger than a day, and nothing where nothing was paid", async () => {
    const young = await chain(100, { 50: -ETHER }).read();
    expect([sum(young.payments), young.sinceMs]).toEqual([ETHER, 100 * BLOCK_SEC * 1000 - DAY_MS]);
    expect(await chain(3 * DAY_BLOCKS, {}).read()).toMatchObject({ payments: [] });
    expect(await chain(100, {}, 101).read()).toEqual({ payments: [], sinceMs: 100 * BLOCK_SEC * 1000 });
  });
});

import { silentLogger } from "@rnode/observe";
import { systemClock } from "@rnode/program";
import { until } from "@rnode/program/testing";
import type { L1BlockRef } from "@rnode/protocol";
import { expect, it } from "vitest";
import { SharedHeads } from "./shared-heads.ts";

const block = (number: number): L1BlockRef => ({ number, hash: `0x${number}`, parentHash: "0x0", timestamp: number });

it("asks L1 once for all chains, tells those that come later, and ends with the last", async () => {
  let requests = 0;
  let head = 1;
  const l1 = {
    blockByLabel: async () => {
      requests++;
      return block(head);
    },
  };
  const heads = new SharedHeads({ headIntervalMs: 1, epochIntervalMs: 0 }, { l1, clock: systemClock, log: silentLogger });
  const seen: Record<string, number[]> = { a: [], b: [] };
  const [a, b] = ["a", "b"].map((name) => heads.follow((_, { number }) => seen[name]!.push(number)));
  a!.start();
  await until("the head", () => seen.a!.length === 1);
  b!.start();
  expect(seen.b).toEqual([1]);
  head = 2;
  await until("the next head", () => seen.b!.length === 2);
  expect(seen).toEqual({ a: [1, 2], b: [1, 2] });
  await a!.close();
  head = 3;
  await until("the third head", () => seen.b!.length === 3);
  expect(seen.a).toEqual([1, 2]);
  await b!.close();
  const ended = requests;
  await systemClock.sleep(20);
  expect(requests).toBe(ended);
});

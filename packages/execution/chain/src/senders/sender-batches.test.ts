import { describe, expect, it } from "vitest";
import { SenderBatches } from "./sender-batches.ts";

/** Answers with a part of each transaction, and keeps how many it got each time. */
function start(isThere = true) {
  const sizes: number[] = [];
  const batches = new SenderBatches({
    async prepare(encoded) {
      sizes.push(encoded.length);
      if (!isThere) return undefined;
      return {
        senders: encoded.map(([first]) => Uint8Array.of(first!)),
        hashes: encoded.map(([, second]) => Uint8Array.of(second!)),
      };
    },
  });
  return { batches, sizes };
}

/** Blocks of these sizes; their transactions are numbered. */
function blocksOf(...sizes: number[]): Uint8Array[][] {
  let next = 0;
  return sizes.map((size) => Array.from({ length: size }, () => Uint8Array.of(next, 255 - next++)));
}

describe("transactions of small blocks", () => {
  it("are prepared together, and each block gets its own", async () => {
    const { batches, sizes } = start();
    const blocks = blocksOf(...new Array<number>(30).fill(3));
    const made = await Promise.all(blocks.map((encoded) => batches.prepare(encoded)));
    expect(sizes).toEqual([66, 24]);
    for (const [index, encoded] of blocks.entries()) {
      expect(made[index]!.senders).toEqual(encoded.map(([first]) => Uint8Array.of(first!)));
      expect(made[index]!.hashes).toEqual(encoded.map(([, second]) => Uint8Array.of(second!)));
    }
  });

  it("are left to the caller if they are few in one turn of the event loop", async () => {
    const { batches, sizes } = start();
    expect(await Promise.all(blocksOf(3, 4).map((encoded) => batches.prepare(encoded)))).toEqual([undefined, undefined]);
    expect(sizes).toEqual([]);
  });

  it("do not wait for others if they are many", async () => {
    const { batches, sizes } = start();
    const [few, many] = blocksOf(3, 64);
    const waiting = batches.prepare(few!);
    expect((await batches.prepare(many!))!.senders).toHaveLength(64);
    expect(sizes).toEqual([64]);
    expect(await waiting).toBeUndefined();
  });

  it("are left to the caller without threads", async () => {
    const { batches } = start(false);
    expect(await batches.prepare(blocksOf(20)[0]!)).toBeUndefined();
  });
});

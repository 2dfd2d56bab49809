import type { HeadChange, PendingBlock, StoredBlock } from "@rnode/chain";
import { PendingBlocks } from "@rnode/eth-api";
import { createLogger, createMetrics } from "@rnode/observe";
import type { Transaction } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { PartPromises } from "./part-promises.ts";
import { createStreamMetrics } from "./stream-metrics.ts";

const filled = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
const DEPOSIT = { type: 0x7e, sourceHash: filled(1), from: new Uint8Array(20), mint: 0n, isSystemTx: false } as const;
const COMMON = { gasLimit: 1n, to: new Uint8Array(20), value: 0n, data: new Uint8Array(0) };
const user = (nonce: number): Transaction => ({
  ...{ ...COMMON, type: 0x02, chainId: 1n, nonce: BigInt(nonce), maxPriorityFeePerGas: 1n, maxFeePerGas: 1n, accessList: [] },
  signature: { r: filled(1), s: filled(1), yParity: 0 },
});
const blockOn = (parent: number, users: readonly number[]): StoredBlock =>
  ({
    block: {
      header: { number: parent + 1, parentHash: filled(parent) },
      transactions: [{ ...COMMON, ...DEPOSIT }, ...users.map(user)],
    },
  }) as unknown as StoredBlock;
const part = (index: number, parent: number, users: readonly number[] = []): PendingBlock =>
  ({ payloadId: "0x03", index, ...blockOn(parent, users) }) as unknown as PendingBlock;

function promising() {
  const pending = new PendingBlocks();
  const log: string[] = [];
  const factory = createMetrics({ prefix: "", ofProcess: false });
  let listener: (change: HeadChange) => void = () => {};
  const promises = new PartPromises({
    pending,
    chain: {
      onHeadChange: (given) => {
        listener = given;
        return () => {};
      },
    },
    log: createLogger({ level: "info", format: "logfmt", destination: { write: (line) => log.push(line) } }),
    metrics: createStreamMetrics(factory),
  });
  return {
    pending,
    log,
    on: (parent: number) => promises.on(filled(parent))?.index,
    add: (...added: StoredBlock[]) => listener({ head: added.at(-1)!, added } as unknown as HeadChange),
    broken: async () => {
      const { body } = await factory.expose();
      return ["missing", "moved"].map((how) =>
        Number(new RegExp(`^subblocks_broken_promises_total{how="${how}"} (.*)$`, "m").exec(body)?.[1] ?? 0),
      );
    },
  };
}

describe("promised parts", () => {
  it("are the latest ones on a parent, also after their stream has broken", () => {
    const { pending, on } = promising();
    expect(on(4)).toBeUndefined();
    pending.set(part(0, 4));
    pending.set(part(1, 4));
    pending.set(undefined);
    expect([on(4), on(5)]).toEqual([1, undefined]);
    pending.set(part(0, 5));
    expect([on(4), on(5)]).toEqual([undefined, 0]);
  });

  it.each([
    ["with more transactions", [blockOn(4, [1, 2, 3])], [0, 0]],
    ["without them", [blockOn(4, [])], [2, 0]],
    ["with one of them elsewhere", [blockOn(4, [2])], [1, 1]],
    ["on another parent, among others", [blockOn(3, []), { ...blockOn(4, [2, 1]), hash: filled(9) }, blockOn(5, [])], [0, 2]],
    ["that is not theirs", [blockOn(3, [])], [0, 0]],
  ])("are compared once with the block %s", async (_, added, expected) => {
    const { pending, add, broken, log } = promising();
    pending.set(part(1, 4, [1, 2]));
    pending.set(undefined); // a gap: clients have seen them all the same
    for (let times = 0; times < 2; times++) add(...added);
    expect(await broken()).toEqual(expected);
    expect(log.length).toBe(expected[0]! + expected[1]! > 0 ? 1 : 0);
  });
});

import { decodeTransaction, type Log } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { emittingTransaction, executingTransaction, logOfTransaction } from "../sim-logs.ts";
import { haveOrder, type ModelBlock, unmetMessage } from "./set-model.ts";

const A = 1n;
const B = 2n;
const logOf = (tx: Uint8Array): Log => logOfTransaction(decodeTransaction(tx))!;
const plain = (byte: number): Log => logOf(emittingTransaction(A, Uint8Array.of(byte)));
const executing = (chainId: bigint, number: number, logIndex: number, timestamp: number, log: Log): Log =>
  logOf(executingTransaction(B, { chainId, number, logIndex, timestamp }, log));
const block = (timestamp: number, ...logs: Log[]): ModelBlock => ({ number: timestamp, timestamp, logs });

describe("the model of the rules", () => {
  const initiating = block(100, plain(1), plain(2));
  const set = {
    expirySec: 10,
    blockAt: (chainId: bigint, number: bigint) => (chainId === A && number === 100n ? initiating : undefined),
  };
  it.each<[string, ModelBlock, string | undefined]>([
    ["no message", block(105, plain(7)), undefined],
    ["a message of its time", block(100, executing(A, 100, 1, 100, plain(2))), undefined],
    ["a message at the end of its window", block(110, executing(A, 100, 0, 100, plain(1))), undefined],
    ["an expired message", block(111, executing(A, 100, 0, 100, plain(1))), "expired"],
    ["a later message", block(99, executing(A, 100, 0, 100, plain(1))), "later"],
    ["a message of another log", block(105, executing(A, 100, 0, 100, plain(2))), "another log"],
    ["a message without a log", block(105, executing(A, 100, 2, 100, plain(2))), "does not exist"],
    ["a message of another time", block(105, executing(A, 100, 0, 101, plain(1))), "does not exist"],
    ["a message of another chain", block(105, executing(B, 100, 0, 100, plain(1))), "does not exist"],
  ])("knows of %s", (_, executes, reason) => {
    if (reason === undefined) expect(unmetMessage(set, executes)).toBeUndefined();
    else expect(unmetMessage(set, executes)).toContain(reason);
  });

  it("orders the logs of one time, unless they form a cycle", () => {
    const needsSecond = (chainId: bigint): Log => executing(chainId, 5, 1, 5, plain(1));
    const needsFirst = (chainId: bigint): Log => executing(chainId, 5, 0, 5, plain(1));
    const at = (a: Log[], b: Log[]) =>
      haveOrder(
        new Map([
          [A, block(5, ...a)],
          [B, block(5, ...b)],
        ]),
      );
    expect(at([plain(1), needsFirst(B)], [plain(1), needsFirst(A)])).toBe(true);
    expect(at([needsSecond(B), plain(1)], [needsSecond(A), plain(1)])).toBe(false);
    expect(at([needsSecond(B), plain(1)], [plain(1), plain(1)])).toBe(true);
    expect(at([needsSecond(A), plain(1)], [])).toBe(false);
  });
});

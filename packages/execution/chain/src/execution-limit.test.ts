import { asm } from "@rnode/evm/testing";
import { type Hex, hexToBytes } from "@rnode/primitives";
import { encodeTransaction, type PayloadAttributes } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PreparedBlock } from "./prepared-block.ts";
import { attributesDeposit, attributesFor, BLOCK_TIME_SEC, type DevChain, forkchoice, openDevChain } from "./testing/dev-chain.ts";

const LIMIT_MS = 20;
const HUGE_GAS = 1n << 62n;

/** Deposits that run for ever, or for minutes in one step. */
const BOMBS: readonly (readonly [string, string])[] = [
  ["an endless loop", ":loop @loop JUMP"],
  ["calls of itself", ":loop 0 0 0 0 0 ADDRESS GAS CALL POP @loop JUMP"],
  ["hashes of 256 MiB without a jump", "268435456 0 KECCAK256 POP ".repeat(1_000)],
  ["copies of 256 MiB without a jump", "268435456 0 0 CALLDATACOPY ".repeat(1_000)],
  ["BLAKE2 of 2^32 − 1 rounds", "0xffffffff 224 SHL 0 MSTORE 0 0 213 0 9 GAS STATICCALL"],
  ["a modular exponentiation of 64 KiB", "65536 0 MSTORE 65536 32 MSTORE 65536 64 MSTORE 0 0 196704 0 5 GAS STATICCALL"],
  ["pairings without a jump", "0 0 81984 0 8 GAS STATICCALL POP ".repeat(1_000)],
  ["more memory than there is", ":loop 1 MSIZE 1000000000 ADD MSTORE @loop JUMP"],
];

let chain: DevChain;
let other: DevChain;
let nowMs = 0;
beforeEach(() => {
  // every look at the clock takes a millisecond, so that no test depends on the machine
  chain = openDevChain("jovian", { options: { maxExecutionMs: LIMIT_MS }, nowMs: () => nowMs++ });
  other = openDevChain();
});
afterEach(async () => {
  await chain.remove();
  await other.remove();
});

const head = (): Uint8Array => hexToBytes(chain.chain.head().hash);

/** Attributes with a deposit that runs this code as a creation. */
function attributesWith(code: Uint8Array, gasLimit = HUGE_GAS, seed = 1): PayloadAttributes {
  const deposit = { ...attributesDeposit(seed), sourceHash: new Uint8Array(32).fill(0xdd), to: undefined, data: code, gasLimit };
  const attributes = attributesFor(chain, seed);
  return {
    ...attributes,
    gasLimit: gasLimit + 2_000_000n,
    transactions: [...attributes.transactions!, encodeTransaction(deposit)],
  };
}

/** A block that another node built with these attributes. */
function built(attributes: PayloadAttributes): PreparedBlock {
  const result = other.chain.buildBlock(hexToBytes(other.chain.head().hash), attributes);
  if (result.kind !== "built") throw new Error(result.kind);
  return new PreparedBlock(result.payload.block);
}

/** The same block, in which the last deposit has another code and all gas. Its roots are wrong, which only its execution would show. */
function bombBlock(code: Uint8Array): PreparedBlock {
  const attributes = attributesWith(code, 1_000_000n);
  const { block } = built(attributesWith(asm("STOP"), 1_000_000n));
  const transactions = [block.transactions[0]!, { ...attributesDeposit(1), to: undefined, data: code, gasLimit: HUGE_GAS }];
  return new PreparedBlock({
    ...block,
    header: {
      ...block.header,
      gasLimit: attributes.gasLimit! + HUGE_GAS,
      gasUsed: HUGE_GAS,
      transactionsRoot: rootOf(transactions),
    },
    transactions,
  });
}
const rootOf = (transactions: Parameters<typeof encodeTransaction>[0][]): Uint8Array =>
  orderedTrieRoot(transactions.map(encodeTransaction));

/** A block that is slow and valid: its deposit burns 56 slices of the engine. */
const slow = (): PayloadAttributes => attributesWith(asm(":loop @loop JUMP"), 28_000_000n);
const isTooLong = expect.objectContaining({ code: "chain/execution-too-long" });
const failureOf = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

describe("the time limit of an execution", () => {
  it.each(BOMBS)("stops a payload with %s, and the chain goes on", (_, text) => {
    const bomb = bombBlock(asm(text));
    expect(failureOf(() => chain.chain.newPayload(bomb))).toEqual(isTooLong);
    expect(
      failureOf(() => chain.chain.newPayload(bomb)),
      "in the pause",
    ).toEqual(isTooLong);
    const block = built(attributesFor(other, 2));
    expect(chain.chain.newPayload(block).status).toBe("VALID");
    expect(chain.chain.forkchoiceUpdated(forkchoice(block.hash), undefined, 3)).toMatchObject({ status: { status: "VALID" } });
  });

  it.each(BOMBS)("stops the building of a block with %s", { tags: "long" }, (_, text) => {
    const attributes = attributesWith(asm(text));
    expect(failureOf(() => chain.chain.forkchoiceUpdated(forkchoice(head()), attributes, 3))).toEqual(isTooLong);
    expect(failureOf(() => chain.chain.extend(forkchoice(head()), [{ attributes }], 1_000))).toEqual(isTooLong);
    expect(chain.chain.forkchoiceUpdated(forkchoice(head()), attributesFor(chain, 3), 3)).toMatchObject({ kind: "updated" });
  });

  it("gives a peer's slow block the same time after each pause, and takes it once it was built from L1", () => {
    const attributes = slow();
    const block = built(attributes);
    const attempts: string[] = [];
    for (let count = 0; count < 30; count++) {
      const before = nowMs;
      expect(failureOf(() => chain.chain.newPayload(block))).toEqual(isTooLong);
      attempts.push(nowMs - before < 3 ? "pause" : "stopped");
      nowMs += 20;
    }
    expect(attempts.slice(0, 4)).toEqual(["stopped", "pause", "pause", "pause"]);
    expect(attempts.filter((attempt) => attempt === "stopped").length).toBeGreaterThan(3);
    const start = () => failureOf(() => chain.chain.forkchoiceUpdated(forkchoice(head()), attributes, 3));
    const [, , third] = [start(), start(), start()];
    chain.chain.getPayload((third as { payloadId: Hex }).payloadId);
    expect(chain.chain.newPayload(block).status).toBe("VALID");
  });

  it("lets a slow block through at the third attempt if a rollup node derived it", () => {
    const attributes = slow();
    const start = () => failureOf(() => chain.chain.forkchoiceUpdated(forkchoice(head()), attributes, 3));
    expect([start(), start()]).toEqual([isTooLong, isTooLong]);
    expect(start()).toMatchObject({ kind: "updated", status: { status: "VALID" } });
  });

  it("is off by default and at 0", async () => {
    expect(other.chain.newPayload(built(slow())).status).toBe("VALID");
    const unlimited = openDevChain("jovian", { options: { maxExecutionMs: 0 }, nowMs: () => (nowMs += 1_000) });
    expect(unlimited.chain.newPayload(built(slow())).status).toBe("VALID");
    await unlimited.remove();
  });

  it("keeps the blocks before one that takes too long", () => {
    const attributes = attributesFor(chain, 1);
    const bomb = { ...attributesWith(asm(BOMBS[0]![1])), timestamp: attributes.timestamp + BLOCK_TIME_SEC };
    const result = chain.chain.extend(forkchoice(head()), [{ attributes }, { attributes: bomb }], 1_000_000);
    expect(result).toMatchObject({ kind: "extended", refusal: undefined });
    expect(chain.chain.head().number).toBe(1);
  });
});

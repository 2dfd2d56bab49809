import { bytesToHex, equalBytes, hexToBytes, padBytesLeft, ZERO_HASH } from "@rnode/primitives";
import { encodeTransaction } from "@rnode/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ExtendResult } from "./api.ts";
import { PreparedBlock } from "./prepared-block.ts";
import {
  attributesFor,
  BLOCK_TIME_SEC,
  type DevChain,
  forkchoice,
  LOGGER,
  openDevChain,
  transaction,
} from "./testing/dev-chain.ts";

const NO_LIMIT_MS = Number.POSITIVE_INFINITY;
let dev: DevChain;
let other: DevChain;

beforeEach(() => {
  dev = openDevChain();
  other = openDevChain();
});

afterEach(async () => {
  await dev.remove();
  await other.remove();
});

/** Attributes of `count` blocks, each of which changes a slot of the logger. */
function series(count: number) {
  const first = attributesFor(dev, 1);
  return Array.from({ length: count }, (_, index) => {
    const data = padBytesLeft(Uint8Array.of(index + 1), 32);
    const write = encodeTransaction(transaction(0, index, { to: LOGGER, value: 0n, data }));
    const timestamp = first.timestamp + index * BLOCK_TIME_SEC;
    return { attributes: { ...first, timestamp, transactions: [...first.transactions!, write] } };
  });
}
const headHash = (): Uint8Array => hexToBytes(dev.chain.head().hash);
const extended = (result: ExtendResult): Extract<ExtendResult, { kind: "extended" }> => {
  if (result.kind !== "extended") throw new Error(result.reason);
  return result;
};
const slotOf = (chain: DevChain): number => chain.chain.stateAt(chain.chain.head())!.readStorage(LOGGER, ZERO_HASH)!.at(-1)!;

describe("building many blocks at once", () => {
  it("makes the blocks that are built one at a time, which others find valid, and has them in the database", {
    tags: "long",
  }, async () => {
    const added: number[] = [];
    dev.chain.onHeadChange((change) => added.push(...change.added.map(({ block }) => block.header.number)));
    const wanted = series(80);
    const { blocks, refusal } = extended(dev.chain.extend(forkchoice(headHash()), wanted, NO_LIMIT_MS));
    expect(refusal).toBeUndefined();
    expect(blocks).toHaveLength(80);
    expect(added).toEqual(Array.from({ length: 80 }, (_, index) => index + 1));
    for (const [index, { attributes }] of wanted.entries()) {
      const started = other.chain.forkchoiceUpdated(forkchoice(hexToBytes(other.chain.head().hash)), attributes, 3);
      if (started.kind !== "updated") throw new Error(started.reason);
      const built = other.chain.getPayload(started.payloadId!)!;
      expect(bytesToHex(built.hash)).toBe(blocks[index]!.hashHex);
      other.chain.newPayload(new PreparedBlock(built.block));
      other.chain.forkchoiceUpdated(forkchoice(built.hash), undefined, 3);
    }
    expect(dev.chain.head()).toEqual(other.chain.head());
    expect([slotOf(dev), slotOf(other)]).toEqual([80, 80]);
    await dev.chain.close();
    dev = openDevChain("jovian", { folder: dev.folder });
    expect(dev.chain.head()).toEqual(other.chain.head());
  });

  it("keeps what came before a block that cannot be built, and says why that cannot", () => {
    const wanted = series(20);
    const broken = wanted[17]!.attributes;
    wanted[17] = { attributes: { ...broken, transactions: [...broken.transactions, Uint8Array.of(0x02, 0xff)] } };
    const { blocks, refusal } = extended(dev.chain.extend(forkchoice(headHash()), wanted, NO_LIMIT_MS));
    expect(blocks).toHaveLength(17);
    expect(refusal).toMatchObject({ fault: "transaction-undecodable" });
    expect(dev.chain.head()).toEqual({ hash: blocks.at(-1)!.hashHex, number: 17 });
    expect(slotOf(dev)).toBe(17);
  });

  it("takes no transaction that is not valid on its block", () => {
    const wanted = series(3);
    const tooHigh = encodeTransaction(transaction(0, 99, { to: LOGGER, value: 0n }));
    wanted[1] = { attributes: { ...wanted[1]!.attributes, transactions: [...wanted[1]!.attributes.transactions, tooHigh] } };
    const { blocks, refusal } = extended(dev.chain.extend(forkchoice(headHash()), wanted, NO_LIMIT_MS));
    expect(blocks).toHaveLength(1);
    expect(refusal).toMatchObject({ fault: "transaction-invalid" });
    expect(dev.chain.head().number).toBe(1);
  });

  it("builds one block when there is no time for more", () => {
    const { blocks, refusal } = extended(dev.chain.extend(forkchoice(headHash()), series(5), 0));
    expect([blocks.length, refusal, dev.chain.head().number]).toEqual([1, undefined, 1]);
  });

  it("builds on another head than its own, and leaves its own blocks", () => {
    const genesis = headHash();
    const before = extended(dev.chain.extend(forkchoice(genesis), series(3), NO_LIMIT_MS)).blocks;
    const others = series(5).map(({ attributes }) => ({ attributes: { ...attributes, prevRandao: new Uint8Array(32).fill(7) } }));
    const { blocks } = extended(dev.chain.extend(forkchoice(genesis), others, NO_LIMIT_MS));
    expect(dev.chain.head()).toEqual({ hash: blocks.at(-1)!.hashHex, number: 5 });
    expect(dev.chain.resolve({ kind: "number", number: 3 })!.hash).toEqual(blocks[2]!.hash);
    expect(equalBytes(before[2]!.hash, blocks[2]!.hash)).toBe(false);
  });

  it("has the state of each of two branches that nobody has chosen, however they grow in turns", () => {
    const genesis = headHash();
    const wanted = series(6);
    const elsewhere = wanted.map(({ attributes }, index) => {
      const data = padBytesLeft(Uint8Array.of(index + 101), 32);
      const write = encodeTransaction(transaction(0, index, { to: LOGGER, value: 0n, data }));
      return { attributes: { ...attributes, transactions: [attributes.transactions[0]!, write] } };
    });
    const branches = [wanted, elsewhere].map(
      (blocks) => extended(other.chain.extend(forkchoice(genesis), blocks, NO_LIMIT_MS)).blocks,
    );
    const stateAfter = ({ hash, header }: PreparedBlock) => dev.chain.stateAt({ hash: bytesToHex(hash), number: header.number })!;
    const valueIn = (state: ReturnType<typeof stateAfter>) => state.readStorage(LOGGER, ZERO_HASH)!.at(-1)!;
    const kept: { readonly state: ReturnType<typeof stateAfter>; readonly value: number }[] = [];
    for (let index = 0; index < 6; index++) {
      for (const [which, blocks] of branches.entries()) {
        const block = blocks[index]!;
        expect(dev.chain.newPayload(new PreparedBlock(block.block)).status).toBe("VALID");
        kept.push({ state: stateAfter(block), value: index + 1 + 100 * which });
      }
    }
    expect(kept.map(({ state }) => valueIn(state))).toEqual(kept.map(({ value }) => value));
    expect(branches.map((blocks) => blocks.map((block) => valueIn(stateAfter(block))))).toEqual([
      [1, 2, 3, 4, 5, 6],
      [101, 102, 103, 104, 105, 106],
    ]);
    expect(dev.chain.head().number).toBe(0);
  });

  it("builds nothing on a head that it does not know", () => {
    const unknown = new Uint8Array(32).fill(0xee);
    expect(dev.chain.extend(forkchoice(unknown), series(2), NO_LIMIT_MS)).toEqual({
      kind: "extended",
      status: { status: "SYNCING", latestValidHash: null },
      blocks: [],
      refusal: undefined,
    });
    expect(dev.chain.head().number).toBe(0);
  });
});

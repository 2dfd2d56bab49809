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
  it("makes the blocks that are built one at a time, which others find valid, and has them in the database", async () => {
    const added: number[] = [];
    dev.chain.onHeadChange((change) => added.push(...change.added.map(({ block }) => block.header.number)));
    const wanted = series(40);
    const { blocks, refusal } = extended(dev.chain.extend(forkchoice(headHash()), wanted, NO_LIMIT_MS));
    expect(refusal).toBeUndefined();
    expect(blocks).toHaveLength(40);
    expect(added).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    for (const [index, { attributes }] of wanted.entries()) {
      const started = other.chain.forkchoiceUpdated(forkchoice(hexToBytes(other.chain.head().hash)), attributes, 3);
      if (started.kind !== "updated") throw new Error(started.reason);
      const built = other.chain.getPayload(started.payloadId!)!;
      expect(bytesToHex(built.hash)).toBe(blocks[index]!.hashHex);
      other.chain.newPayload(new PreparedBlock(built.block));
      other.chain.forkchoiceUpdated(forkchoice(built.hash), undefined, 3);
    }
    expect(dev.chain.head()).toEqual(other.chain.head());
    expect([slotOf(dev), slotOf(other)]).toEqual([40, 40]);
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

import { concatBytes, decodeRlp, encodeRlp, equalBytes, keccak256 } from "@rnode/primitives";
import { encodeTransaction, type Log, logsBloom, type Receipt, type Transaction } from "@rnode/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BlockParts } from "./block-parts.ts";
import { encodeReceiptsRow, receiptFromRlp } from "./block-rows.ts";
import { LogMatcher } from "./log-matcher.ts";
import { compress, decompress, MatchTable, maxCompressedSize } from "./lz.ts";
import { BlockPacker } from "./packed-block.ts";
import { rlpEnd } from "./rlp-walk.ts";

/** Bytes with repetitions. */
const patterned = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(new Uint8Array(70), new Uint8Array(600).fill(7), Uint8Array.of(1, 2, 3, 4, 5, 6)),
    ),
    {
      maxLength: 30,
    },
  )
  .map((parts) => concatBytes(...parts));

describe("compression", () => {
  it("gives back what went in, with what was before as a dictionary", () => {
    fc.assert(
      fc.property(patterned, patterned, (dictionary, data) => {
        const bytes = concatBytes(dictionary, data);
        const table = new MatchTable();
        table.note(bytes, 0, dictionary.length);
        const out = new Uint8Array(maxCompressedSize(data.length));
        const size = compress(table, bytes, dictionary.length, bytes.length, out, 0);
        expect(size).toBeLessThanOrEqual(out.length);
        const restored = concatBytes(dictionary, new Uint8Array(data.length));
        expect(decompress(out, 0, size, restored, dictionary.length, restored.length)).toBe(true);
        expect(restored).toEqual(bytes);
      }),
    );
  });

  it("recognises what cannot have been written, and never writes beyond its room", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), fc.nat(80), (input, size) => {
        const out = new Uint8Array(size + 8).fill(0xee);
        decompress(input, 0, input.length, out, 4, 4 + size);
        expect(out.subarray(4 + size)).toEqual(new Uint8Array(4).fill(0xee));
      }),
    );
  });
});

const address = fc.nat(5).map((seed) => keccak256(Uint8Array.of(seed)).subarray(12));
const topic = fc.nat(7).map((seed) => (seed < 3 ? new Uint8Array(32).fill(seed, 31) : keccak256(Uint8Array.of(seed, 1))));
const log = fc.record<Log>({ address, topics: fc.array(topic, { maxLength: 4 }), data: fc.uint8Array({ maxLength: 100 }) });
const item = fc.record({
  legacy: fc.boolean(),
  nonce: fc.nat(1e6),
  data: fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.nat(20_000).map((size) => new Uint8Array(size).fill(size)),
    fc.constant(new Uint8Array(40_000)),
  ),
  logs: fc.array(log, { maxLength: 4 }),
  gas: fc.bigInt({ min: 0n, max: 2n ** 50n }),
  sender: address,
});
const signature = { r: new Uint8Array(32).fill(1), s: new Uint8Array(32).fill(2), yParity: 0 as const };

function blockOf(
  items: readonly { legacy: boolean; nonce: number; data: Uint8Array; logs: readonly Log[]; gas: bigint; sender: Uint8Array }[],
) {
  let cumulativeGasUsed = 0n;
  const common = { gasLimit: 1n, to: undefined, value: 3n, signature, chainId: 1n };
  const transactions = items.map(
    ({ legacy, nonce, data }): Transaction =>
      legacy
        ? { type: 0, ...common, nonce: BigInt(nonce), gasPrice: 1n, data }
        : { type: 2, ...common, nonce: BigInt(nonce), maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, accessList: [], data },
  );
  const receipts = items.map(({ legacy, logs, gas }): Receipt => {
    cumulativeGasUsed += gas;
    return { type: legacy ? 0 : 2, status: 1, cumulativeGasUsed, logs, bloom: logsBloom(logs) };
  });
  const encodedTransactions = transactions.map(encodeTransaction);
  const hashes = encodedTransactions.map((encoded) => keccak256(encoded));
  return { encodedTransactions, hashes, receipts, senders: items.map(({ sender }) => sender) };
}

function opened(block: ReturnType<typeof blockOf>, isCompressed: boolean): BlockParts {
  const { body, receipts } = new BlockPacker(isCompressed).pack({
    encodedTransactions: block.encodedTransactions,
    transactionHashes: block.hashes,
    rest: encodeRlp([[]]),
    receipts: encodeReceiptsRow(block.receipts),
    senders: block.senders,
  });
  const rows = { header: new Uint8Array(0), body, receipts: receipts!, senders: concatBytes(...block.senders) };
  const parts = new BlockParts();
  parts.open({ folder: "", row: (part) => rows[part] }, 1, new Uint8Array(32), true);
  return parts;
}

describe("rows of a block", () => {
  const items = fc.array(item, { maxLength: 70 });

  it("give back any transaction, receipt, sender and hash, in any order", () => {
    fc.assert(
      fc.property(items, fc.boolean(), fc.nat(), (given, isCompressed, seed) => {
        const block = blockOf(given);
        const parts = opened(block, isCompressed);
        expect(parts.count).toBe(given.length);
        for (let i = 0; i < 2 * given.length; i++) {
          const index = i < given.length ? i : ((seed + i) * 7919) % given.length;
          if (i % 3 > 0) {
            expect(equalBytes(parts.encodedTransaction(index), block.encodedTransactions[index]!)).toBe(true);
            expect(equalBytes(parts.transactionHash(index), block.hashes[index]!)).toBe(true);
            expect(equalBytes(parts.sender(index), block.senders[index]!)).toBe(true);
          }
          if (i % 2 === 0) continue;
          parts.seekReceipt(index);
          const { bytes, receiptAt } = parts;
          const read = { ...receiptFromRlp(decodeRlp(bytes.slice(receiptAt, rlpEnd(bytes, receiptAt)))) };
          expect(read).toEqual(block.receipts[index]);
          expect(parts.gasBefore()).toBe(block.receipts[index - 1]?.cumulativeGasUsed ?? 0n);
          expect(parts.firstLog).toBe(block.receipts.slice(0, index).reduce((sum, { logs }) => sum + logs.length, 0));
        }
      }),
      { numRuns: 60 },
    );
  });

  it("give the logs that match, and no others", () => {
    const alternatives = fc.option(fc.array(topic, { minLength: 1, maxLength: 7 }), { nil: undefined });
    const criteria = fc.record({
      addresses: fc.option(fc.array(address, { minLength: 1, maxLength: 6 }), { nil: undefined }),
      topics: fc.array(alternatives, { maxLength: 4 }),
    });
    const isOneOf = (value: Uint8Array, wanted: readonly Uint8Array[] | undefined): boolean =>
      wanted === undefined || wanted.some((candidate) => candidate.join() === value.join());
    fc.assert(
      fc.property(items, criteria, (given, { addresses, topics }) => {
        const block = blockOf(given);
        let logIndex = 0;
        const wanted = block.receipts.flatMap(({ logs }, index) =>
          logs.flatMap((one) => {
            const place = logIndex++;
            const isWanted =
              isOneOf(one.address, addresses) &&
              one.topics.length >= topics.length &&
              topics.every((values, position) => isOneOf(one.topics[position]!, values));
            return isWanted ? [[index, place]] : [];
          }),
        );
        const found: number[][] = [];
        opened(block, true).eachLog(new LogMatcher({ addresses, topics }), (_, index, place) => found.push([index, place]));
        expect(found).toEqual(wanted);
      }),
      { numRuns: 60 },
    );
  });

  it("with any bit changed are an error or what was written, never an endless loop", { tags: "long" }, () => {
    const block = blockOf(fc.sample(item, { numRuns: 40, seed: 7 }));
    const { body, receipts } = new BlockPacker().pack({
      encodedTransactions: block.encodedTransactions,
      transactionHashes: block.hashes,
      rest: encodeRlp([[]]),
      receipts: encodeReceiptsRow(block.receipts),
      senders: block.senders,
    });
    const rows = { header: new Uint8Array(0), body, receipts: receipts!, senders: concatBytes(...block.senders) };
    const parts = new BlockParts();
    const readAll = (): void => {
      parts.open({ folder: "", row: (part) => rows[part] }, 1, new Uint8Array(32), true);
      for (let index = 0; index < parts.count; index++) parts.seekReceipt(index);
    };
    readAll();
    let noticed = 0;
    for (const row of [body, receipts!]) {
      for (let at = 0; at < row.length; at += 1 + (at >> 5)) {
        row[at]! ^= 1 << (at & 7);
        try {
          readAll();
        } catch (error) {
          expect(error).toMatchObject({ code: "storage/corrupted" });
          noticed++;
        }
        row[at]! ^= 1 << (at & 7);
      }
    }
    expect(noticed).toBeGreaterThan(50);
  });
});

import { decodeRlp, EMPTY_KECCAK, EMPTY_TRIE_ROOT, expectRlpList, isZeroBytes, keccak256 } from "@rnode/primitives";
import { encodeReceipts, logsBloom, type Receipt } from "@rnode/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeReceiptsRow, receiptFromRlp } from "./blocks/block-rows.ts";
import { readBlockNumber, writeBlockNumber } from "./database/keys.ts";
import { applyNodeDelta, encodeNodeDelta } from "./nodes/node-delta.ts";
import { decodeAccountValue, encodeAccountValue } from "./state/account-value.ts";
import { decodeChangeRow, encodeChangeRow, findOldSlot } from "./state/change-row.ts";

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });

describe("account row", () => {
  const account = fc.record({
    nonce: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    balance: fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), fc.bigInt({ min: 0n, max: 2n ** 50n })),
    codeHash: fc.oneof(hash, fc.constant(EMPTY_KECCAK)),
    storageRoot: fc.oneof(hash, fc.constant(EMPTY_TRIE_ROOT)),
  });

  it("is read back as it was, wherever it lies", () => {
    fc.assert(
      fc.property(account, fc.nat(5), (given, at) => {
        const row = encodeAccountValue(given);
        const shifted = new Uint8Array(at + row.length);
        shifted.set(row, at);
        expect(decodeAccountValue(shifted, at)).toEqual(given);
      }),
    );
  });

  it("of a plain account is a few bytes", () => {
    const plain = { nonce: 5n, balance: 10n ** 18n, codeHash: EMPTY_KECCAK, storageRoot: EMPTY_TRIE_ROOT };
    expect(encodeAccountValue(plain).length).toBe(2 + 1 + 8);
  });
});

describe("row of receipts", () => {
  it("is the same from receipts and from their encodings, and is read back", () => {
    const log = fc.record({
      address: fc.uint8Array({ minLength: 20, maxLength: 20 }),
      topics: fc.array(hash, { maxLength: 4 }),
      data: fc.uint8Array({ maxLength: 80 }),
    });
    const receipt = fc
      .record({
        type: fc.constantFrom(0, 2, 0x7e),
        outcome: fc.oneof(fc.constantFrom(0 as const, 1 as const), hash),
        cumulativeGasUsed: fc.bigInt({ min: 0n, max: 2n ** 60n }),
        logs: fc.array(log, { maxLength: 3 }),
        depositNonce: fc.option(fc.bigInt({ min: 0n, max: 300n }), { nil: undefined }),
        hasVersion: fc.boolean(),
      })
      .map(({ type, outcome, cumulativeGasUsed, logs, depositNonce, hasVersion }): Receipt => {
        const bloom = logsBloom(logs);
        // only before Byzantium, when all were of one type
        if (outcome instanceof Uint8Array)
          return { type: 0, status: undefined, stateRoot: outcome, cumulativeGasUsed, bloom, logs };
        const nonce = depositNonce === undefined ? {} : { depositNonce, ...(hasVersion && { depositReceiptVersion: 1n }) };
        return { type, status: outcome, cumulativeGasUsed, bloom, logs, ...nonce };
      });
    fc.assert(
      fc.property(fc.array(receipt, { maxLength: 6 }), (receipts) => {
        const row = encodeReceiptsRow(receipts).slice();
        expect(encodeReceiptsRow(receipts, encodeReceipts(receipts))).toEqual(row);
        expect(expectRlpList(decodeRlp(row)).map((item) => ({ ...receiptFromRlp(item) }))).toEqual(receipts);
      }),
    );
  });
});

describe("change row", () => {
  it("gives every slot its old value and no other slot any", () => {
    const slots = fc.uniqueArray(
      fc.record({ slot: hash, value: fc.option(fc.uint8Array({ minLength: 1, maxLength: 32 }), { nil: undefined }) }),
      {
        selector: ({ slot }) => slot.join(),
        maxLength: 40,
      },
    );
    fc.assert(
      fc.property(
        fc.option(fc.uint8Array({ minLength: 2, maxLength: 106 }), { nil: undefined }),
        slots,
        hash,
        (account, given, other) => {
          const row = encodeChangeRow(account, [...given]);
          const decoded = decodeChangeRow(row);
          expect(decoded.account).toEqual(account);
          expect(decoded.slots.length).toBe(given.length);
          for (const { slot, value } of given) {
            const { at, size } = findOldSlot(row, slot)!;
            expect(size === 0 ? undefined : row.slice(at, at + size)).toEqual(value);
          }
          if (!given.some(({ slot }) => slot.join() === other.join())) expect(findOldSlot(row, other)).toBeUndefined();
        },
      ),
    );
  });
});

describe("node delta", () => {
  const delta = (old: Uint8Array, next: Uint8Array): Uint8Array => encodeNodeDelta(old, next, 0, 10_000)!;

  it("gives the old version back, of any two", () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 600 });
    fc.assert(
      fc.property(bytes, bytes, (old, next) => {
        expect(applyNodeDelta(delta(old, next), 0, next)).toEqual(old);
      }),
    );
  });

  it("gives the old version back, of versions that differ here and there", () => {
    const edits = fc.array(fc.tuple(fc.nat(531), fc.nat(255)), { maxLength: 30 });
    fc.assert(
      fc.property(edits, (changes) => {
        const old = new Uint8Array(532).map((_, i) => i * 7);
        const next = old.slice();
        for (const [at, value] of changes) next[at] = value;
        expect(applyNodeDelta(delta(old, next), 0, next)).toEqual(old);
      }),
    );
  });

  it("of a branch with one changed hash is little more than the hash", () => {
    const old = new Uint8Array(532).fill(9);
    const next = old.slice();
    next.set(keccak256(Uint8Array.of(1)), 100);
    expect(delta(old, next).length).toBeLessThan(40);
    expect(isZeroBytes(delta(old, old))).toBe(true);
  });

  it("is not made when it is too long, and leaves the caller's bytes before it", () => {
    const old = new Uint8Array(100).fill(1);
    expect(encodeNodeDelta(old, new Uint8Array(100), 1, 75)).toBeUndefined();
    expect(encodeNodeDelta(old, new Uint8Array(99), 1, 75)).toBeUndefined();
    const next = old.slice();
    next[50] = 7;
    const made = encodeNodeDelta(old, next, 3, 75)!;
    expect(applyNodeDelta(made, 3, next)).toEqual(old);
  });
});

describe("block number in keys", () => {
  it.each([0, 1, 255, 256, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 12345, 2 ** 48 - 1])("%i", (number) => {
    const key = new Uint8Array(8);
    writeBlockNumber(key, 1, number);
    expect(readBlockNumber(key, 1)).toBe(number);
    expect([key[0], key[7]]).toEqual([0, 0]);
  });
});

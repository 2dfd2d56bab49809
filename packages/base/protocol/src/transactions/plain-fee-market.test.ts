import { encodeRlp, hexToBytes } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodePlainFeeMarket } from "./plain-fee-market.ts";
import type { FeeMarketTransaction } from "./transaction.ts";
import { encodeTransaction } from "./transaction-codec.ts";

const uint = (bits: bigint): fc.Arbitrary<bigint> =>
  fc.oneof(fc.bigInt(0n, 300n), fc.bigInt(0n, (1n << bits) - 1n), fc.bigInt(0n, 1n << 56n));
/** r or s of a signature: an integer, so it can have leading zeros to strip. */
const half = fc
  .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.constantFrom(0, 0, 1, 20, 32))
  .map(([bytes, zeros]) => bytes.fill(0, 0, zeros));
const transaction: fc.Arbitrary<FeeMarketTransaction> = fc.record({
  type: fc.constant(0x02 as const),
  chainId: uint(256n),
  nonce: uint(64n),
  maxPriorityFeePerGas: uint(256n),
  maxFeePerGas: uint(256n),
  gasLimit: uint(64n),
  to: fc.option(fc.uint8Array({ minLength: 20, maxLength: 20 }), { nil: undefined }),
  value: uint(256n),
  data: fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ minLength: 54, maxLength: 300 })),
  accessList: fc.constant([]),
  signature: fc.record({ r: half, s: half, yParity: fc.constantFrom(0 as const, 1 as const) }),
});

describe("decodePlainFeeMarket", () => {
  it("gives every field back", () => {
    fc.assert(
      fc.property(transaction, (tx) => {
        expect(decodePlainFeeMarket(encodeTransaction(tx))).toEqual(tx);
      }),
      { numRuns: 500, seed: 3 },
    );
  });

  it("leaves to others what is not the only encoding of what it would give", () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 1, 0x7f, 0x80, 0x81, 0xa0, 0xb7, 0xb8, 0xbf, 0xc0, 0xc1, 0xff)), {
      minLength: 1,
      maxLength: 2,
    });
    fc.assert(
      fc.property(transaction, damage, fc.integer({ min: -3, max: 3 }), (tx, bytes, longer) => {
        const encoded = encodeTransaction(tx);
        const damaged = new Uint8Array(encoded.length + longer);
        damaged.set(encoded.subarray(0, damaged.length));
        for (const [at, byte] of bytes) damaged[1 + (at % (damaged.length - 1))] = byte;
        const decoded = decodePlainFeeMarket(damaged);
        if (decoded !== undefined) expect(encodeTransaction({ ...decoded })).toEqual(damaged);
      }),
      { numRuns: 5000, seed: 5 },
    );
  });

  it("leaves an access list to others", () => {
    const entry = [new Uint8Array(20), [new Uint8Array(32)]];
    const none = hexToBytes("0x");
    const fields = [none, none, none, none, none, none, none, none, [entry], none, Uint8Array.of(1), Uint8Array.of(1)];
    expect(decodePlainFeeMarket(Uint8Array.of(2, ...encodeRlp(fields)))).toBeUndefined();
  });
});

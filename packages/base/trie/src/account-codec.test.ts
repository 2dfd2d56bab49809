import { encodeRlp, rlpUint } from "@rnode/primitives";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeAccount, encodeAccount } from "./account-codec.ts";

describe("encodeAccount", () => {
  const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
  const upTo = (bits: number) =>
    fc.oneof(
      fc.bigInt(0n, 300n),
      fc.bigInt(0n, (1n << BigInt(bits)) - 1n),
      fc.nat(bits).map((n) => (1n << BigInt(n)) - 1n),
    );

  it("is the RLP of the four fields, and decodes to them", () => {
    fc.assert(
      fc.property(upTo(64), upTo(256), hash, hash, (nonce, balance, storageRoot, codeHash) => {
        const rlp = encodeAccount({ nonce, balance, storageRoot, codeHash });
        expect(rlp).toEqual(encodeRlp([rlpUint(nonce), rlpUint(balance), storageRoot, codeHash]));
        expect(decodeAccount(rlp)).toEqual({ nonce, balance, storageRoot, codeHash });
      }),
      { numRuns: 500, seed: 3 },
    );
  });
});

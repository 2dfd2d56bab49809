import { defaultCrypto } from "@chainsafe/enr";
import { SECP256K1_N } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { recordCrypto } from "./record-crypto.ts";

const keys = [1, 2, 0x55, 0xee].map((byte) => new Uint8Array(32).fill(byte));
const message = new TextEncoder().encode("a record");

describe("the identity scheme of records", () => {
  it("agrees with the library's", () => {
    for (const key of keys) {
      const publicKey = defaultCrypto.publicKey(key);
      expect(recordCrypto.nodeId(publicKey)).toBe(defaultCrypto.nodeId(publicKey));
      const signature = recordCrypto.sign(key, message);
      expect(signature).toEqual(defaultCrypto.sign(key, message));
      expect(recordCrypto.verify(publicKey, message, signature)).toBe(true);
    }
  });

  it.each([
    ["of another message", (s: Uint8Array) => [s, new TextEncoder().encode("another record")] as const],
    ["with another byte", (s: Uint8Array) => [Uint8Array.from(s, (byte, i) => (i === 40 ? byte ^ 1 : byte)), message] as const],
    ["of another length", (s: Uint8Array) => [s.slice(1), message] as const],
    ["of zeros", () => [new Uint8Array(64), message] as const],
    [
      "with the other s",
      (s: Uint8Array) => {
        const other = SECP256K1_N - BigInt(`0x${Buffer.from(s.subarray(32)).toString("hex")}`);
        return [
          Uint8Array.from([...s.subarray(0, 32), ...Buffer.from(other.toString(16).padStart(64, "0"), "hex")]),
          message,
        ] as const;
      },
    ],
  ])("refuses a signature %s", (_, alter) => {
    const [key] = keys as [Uint8Array];
    const [signature, signed] = alter(recordCrypto.sign(key, message));
    expect(recordCrypto.verify(defaultCrypto.publicKey(key), signed, signature)).toBe(false);
    expect(recordCrypto.verify(defaultCrypto.publicKey(keys[1]!), message, recordCrypto.sign(key, message))).toBe(false);
  });
});

import { secp256k1 as noble } from "@noble/curves/secp256k1.js";
import { type NativeSecp256k1, nativeModules } from "@rnode/native";
import { describe, expect, it } from "vitest";
import { bytesToHex, hexToBytes, trimBytesLeft } from "../bytes.ts";
import { keccak256 } from "../hash/hash.ts";
import {
  privateKeyToAddress,
  publicKeyToAddress,
  recoverAddress,
  recoverAddresses,
  recoverPublicKey,
  SECP256K1_HALF_N,
  SECP256K1_N,
  signHash,
} from "./secp256k1.ts";
import { PUBLIC_KEY_BYTES, type Secp256k1Backend, SIGNED_BYTES } from "./secp256k1-api.ts";
import { backendOf, loadSecp256k1Backend, loadSecp256k1Library } from "./secp256k1-backend.ts";

const LAMBDA = 0x5363ad4cc05c30e0a5261c028812645a122e22ea20816678df02967c1b23bd72n;
const privateKey = new Uint8Array(32).fill(0x11);
const hash = keccak256(Uint8Array.of(1, 2, 3));

describe("secp256k1", () => {
  it("knows the address of a private key", () => {
    expect(bytesToHex(privateKeyToAddress(privateKey))).toBe("0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a");
  });

  it("signs deterministically with a low s, and recovers the signer", () => {
    const { r, s, yParity } = signHash(hash, privateKey);
    expect(signHash(hash, privateKey)).toEqual({ r, s, yParity });
    expect(BigInt(bytesToHex(s)) <= SECP256K1_HALF_N).toBe(true);
    expect(recoverAddress(hash, r, s, yParity)).toEqual(privateKeyToAddress(privateKey));
    expect(recoverAddress(hash, r, s, yParity ^ 1)).not.toEqual(privateKeyToAddress(privateKey));
  });

  it("recovers each time anew, from halves without leading zeros too", () => {
    const keys = Array.from({ length: 300 }, (_, i) => keccak256(Uint8Array.of(i >> 8, i)));
    const signed = keys.map((key) => ({ key, message: keccak256(key), signature: signHash(keccak256(key), key) }));
    const recovered = signed.map(({ message, signature: { r, s, yParity } }) => {
      const [shortR, shortS] = [trimBytesLeft(r), trimBytesLeft(s)];
      return { address: recoverAddress(message, shortR, shortS, yParity), publicKey: recoverPublicKey(message, r, s, yParity) };
    });
    expect(signed.some(({ signature: { r } }) => trimBytesLeft(r).length < 32)).toBe(true);
    for (const [index, { key }] of signed.entries()) {
      expect(recovered[index]!.address).toEqual(privateKeyToAddress(key));
      expect(publicKeyToAddress(recovered[index]!.publicKey)).toEqual(privateKeyToAddress(key));
    }
  });

  it("recovers many together, in their places", () => {
    const signed = Array.from({ length: 150 }, (_, i) => {
      const message = keccak256(Uint8Array.of(i));
      const signature = signHash(message, keccak256(message));
      if (i % 7 === 3) return undefined;
      return { hash: message, signature: i % 11 === 5 ? { ...signature, r: new Uint8Array(32).fill(0xff) } : signature };
    });
    const expected = signed.map((item, i) =>
      item === undefined || i % 11 === 5 ? undefined : privateKeyToAddress(keccak256(item.hash)),
    );
    expect(recoverAddresses(signed)).toEqual(expected);
    expect(recoverAddresses([])).toEqual([]);
    expect(recoverAddresses([undefined, undefined])).toEqual([undefined, undefined]);
  });

  it("refuses a hash that is not 32 bytes", () => {
    const { r, s, yParity } = signHash(hash, privateKey);
    expect(() => recoverAddress(hash.subarray(1), r, s, yParity)).toThrow(
      expect.objectContaining({ code: "secp256k1/bad-signature" }),
    );
  });

  it("signs the gossip vector's message as the protocol says", () => {
    const { r, s, yParity } = signHash(
      hexToBytes("0xa72648feb555df2e5769522d63f335024a540b559e415dfdefc902306fbb10d2"),
      privateKey,
    );
    expect(bytesToHex(r)).toBe("0x173521b0362938539d85f37232e7a4563260cdb2c4aea985d6641653395158e0");
    expect(bytesToHex(s)).toBe("0x4e68ac87768247a013258e3cb1960e4c95c4cb07825e44352cb2ff36e01fd980");
    expect(yParity).toBe(1);
  });

  it.each<[string, Uint8Array]>([
    ["zero", new Uint8Array(32)],
    ["the curve's order", hexToBytes(SECP256K1_N.toString(16))],
    ["31 bytes", new Uint8Array(31).fill(1)],
    ["33 bytes", new Uint8Array(33).fill(1)],
  ])("refuses %s as a private key", (_, key) => {
    expect(() => signHash(hash, key)).toThrow(expect.objectContaining({ code: "secp256k1/bad-private-key" }));
    expect(() => privateKeyToAddress(key)).toThrow(expect.objectContaining({ code: "secp256k1/bad-private-key" }));
  });

  it.each<[string, Uint8Array, Uint8Array, number]>([
    ["r = 0", new Uint8Array(1), Uint8Array.of(1), 0],
    ["s = 0", Uint8Array.of(1), new Uint8Array(1), 0],
    ["r of 33 bytes", new Uint8Array(33), Uint8Array.of(1), 0],
    ["s of 33 bytes", Uint8Array.of(1), new Uint8Array(33).fill(1), 0],
    ["r that is no point's x", Uint8Array.of(5), Uint8Array.of(1), 0],
    ["y parity 4", Uint8Array.of(1), Uint8Array.of(1), 4],
  ])("refuses %s as a signature", (_, r, s, yParity) => {
    expect(() => recoverAddress(hash, r, s, yParity)).toThrow(expect.objectContaining({ code: "secp256k1/bad-signature" }));
  });
});

/** Lane counts of this processor; 0 means one key at a time. */
const laneCounts = [0, 4, 8].filter((lanes) => lanes <= (nativeModules?.secp256k1.laneCount() ?? -1));

/** Recovers the keys of several records with native code (packages/base/native/assembly/secp256k1.ts), in `lanes` lanes. */
function keysOf(native: NativeSecp256k1, lanes: number, records: readonly number[][]): string[] {
  const at = native.buffer() + 16;
  const bytes = new Uint8Array(native.memory.buffer, at, 97 * records.length);
  bytes.set(records.flat());
  expect(native.recoverInLanes(at, records.length, lanes)).toBe(1);
  return records.map((_, i) =>
    bytes[97 * i + 96] === 1 ? bytesToHex(Uint8Array.of(4, ...bytes.subarray(97 * i, 97 * i + 64))) : "none",
  );
}

/** Recovers keys as `Secp256k1Backend` does; `undefined` if there is none. */
function recoverWith(backend: Secp256k1Backend, signed: readonly Uint8Array[]): (string | undefined)[] {
  const keys = new Uint8Array(signed.length * PUBLIC_KEY_BYTES).fill(0xee); // what an earlier call left
  backend.recover(Uint8Array.from(signed.flatMap((record) => [...record])), keys);
  return signed.map((record, i) => {
    expect(record).toHaveLength(SIGNED_BYTES);
    const key = keys.subarray(i * PUBLIC_KEY_BYTES, (i + 1) * PUBLIC_KEY_BYTES);
    return key[0] === 0 ? undefined : bytesToHex(key);
  });
}
const signedOf = (message: Uint8Array, signature: Uint8Array, yParity: number) => Uint8Array.of(...message, ...signature, yParity);

describe("backends", () => {
  const withoutBinding = () => loadSecp256k1Library(() => Promise.reject(new Error("no native build")));

  it("falls back to WebAssembly where the binding does not load", async () => {
    expect((await withoutBinding()).name).toBe("wasm");
  });

  it.each([
    ["the one of this platform", loadSecp256k1Backend],
    ["the library alone", async () => backendOf(await loadSecp256k1Library(), undefined)],
    ["WebAssembly", async () => backendOf(await withoutBinding(), undefined)],
  ])("%s signs and recovers as an implementation of other people does", async (_, load) => {
    const backend = await load();
    for (let i = 1; i < 20; i++) {
      const key = keccak256(Uint8Array.of(i));
      const message = keccak256(key);
      const expected = noble.sign(message, key, { prehash: false, format: "recovered" });
      const { signature, yParity } = backend.sign(message, key);
      expect(bytesToHex(Uint8Array.of(yParity, ...signature))).toBe(bytesToHex(expected));
      const publicKey = bytesToHex(noble.getPublicKey(key, false));
      expect(bytesToHex(backend.publicKey(key))).toBe(publicKey);
      const high = SECP256K1_N - BigInt(bytesToHex(signature.subarray(32)));
      const flipped = Uint8Array.of(...signature.subarray(0, 32), ...hexToBytes(high.toString(16).padStart(64, "0")));
      const signed = [signedOf(message, signature, yParity), signedOf(message, flipped, yParity ^ 1)];
      expect(recoverWith(backend, signed)).toEqual([publicKey, publicKey]);
      expect(recoverWith(backend, signed.slice(1))).toEqual([publicKey]);
    }
  });

  it("recover the same keys from random and extreme signatures", async () => {
    const backend = await loadSecp256k1Backend();
    const library = await loadSecp256k1Library();
    let seed = keccak256(Uint8Array.of(42));
    const random = () => (seed = keccak256(seed));
    const near = (value: bigint) =>
      hexToBytes(`0x${(value + BigInt(random()[0]! % 7) - 3n).toString(16).padStart(64, "0").slice(-64)}`);
    const p = 2n ** 256n - 2n ** 32n - 977n;
    // 2^128 and λ are the limits of the scalars' halves
    const values = [3n, SECP256K1_N, SECP256K1_HALF_N, p, p - SECP256K1_N, 2n ** 128n, 2n ** 255n, LAMBDA, SECP256K1_N - LAMBDA];
    const any = (chance: number) => (random()[0]! < chance ? near(values[random()[0]! % values.length]!) : random());
    const answer = (...args: Parameters<typeof library.recover>) => {
      try {
        return bytesToHex(library.recover(...args));
      } catch {
        return undefined;
      }
    };
    let keys = 0;
    const signed: Uint8Array[] = [];
    const recovered: (string | undefined)[] = [];
    for (let i = 0; i < Number(process.env.RNODE_RECOVERIES ?? 600); i++) {
      const message = any(60);
      const signature = Uint8Array.of(...any(40), ...any(80));
      const expected = answer(message, signature, (i & 1) as 0 | 1);
      const record = signedOf(message, signature, i & 1);
      expect(recoverWith(backend, [record]), bytesToHex(record)).toEqual([expected]);
      if (expected !== undefined) keys++;
      signed.push(record);
      recovered.push(expected);
    }
    expect(keys).toBeGreaterThan(100);
    expect(recoverWith(backend, signed)).toEqual(recovered);
    expect(recoverWith(backendOf(library, undefined), signed)).toEqual(recovered);
    for (const lanes of laneCounts) {
      for (let first = 0; first < signed.length; first += 61) {
        const some = signed.slice(first, first + 61).map((record) => [...record]);
        expect(keysOf(nativeModules!.secp256k1, lanes, some), `${lanes} lanes from ${first}`).toEqual(
          recovered.slice(first, first + some.length).map((key) => key ?? "none"),
        );
      }
    }
    // u1·G + u2·R is infinity: R = G, s = h
    const g = hexToBytes("0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");
    const infinite = Uint8Array.of(...g, ...hash);
    expect(answer(hash, infinite, 0)).toBeUndefined();
    const fine = backend.sign(hash, privateKey);
    const none = signedOf(hash, infinite, 0);
    const own = bytesToHex(backend.publicKey(privateKey));
    expect(recoverWith(backend, [none])).toEqual([undefined]);
    expect(recoverWith(backend, [none, signedOf(hash, fine.signature, fine.yParity), none])).toEqual([undefined, own, undefined]);
    // both summands are equal: s = −h
    const equal = Uint8Array.of(...g, ...hexToBytes((SECP256K1_N - BigInt(bytesToHex(hash))).toString(16).padStart(64, "0")));
    expect(recoverWith(backend, [signedOf(hash, equal, 0)])).toEqual([answer(hash, equal, 0)]);
  });

  it.skipIf(nativeModules === undefined)("recover sums that meet equal, opposite and infinite points on the way", async () => {
    const native = nativeModules!.secp256k1;
    const library = await loadSecp256k1Library();
    const wordOf = (value: bigint): Uint8Array => hexToBytes(`0x${value.toString(16).padStart(64, "0")}`);
    const modulo = (value: bigint): bigint => ((value % SECP256K1_N) + SECP256K1_N) % SECP256K1_N;
    const scalars = [
      1n,
      2n,
      15n,
      16n,
      17n,
      1023n,
      1024n,
      1025n,
      2n ** 128n,
      2n ** 128n + 1n,
      LAMBDA,
      LAMBDA + 1n,
      0x5n << 126n,
    ].flatMap((value) => [value, SECP256K1_N - value]);
    const points = Array.from({ length: 17 }, (_, i) => noble.Point.BASE.multiply(BigInt(i + 1)).toAffine());
    const records: number[][] = [];
    const expected: string[] = [];
    for (let i = 0; i < 1200; i++) {
      // the key is u1·G + u2·k·G
      const [k, u1, u2] = [1 + (i % 17), scalars[i % scalars.length]!, scalars[(i * 7 + (i >> 5)) % scalars.length]!];
      const point = points[k - 1]!;
      const r = modulo(point.x);
      const [hash, s] = [wordOf(modulo(-u1 * r)), wordOf(modulo(u2 * r))];
      const parity = (point.y & 1n) === 1n ? 1 : 0;
      records.push([...hash, ...wordOf(r), ...s, parity]);
      try {
        expected.push(bytesToHex(library.recover(hash, Uint8Array.of(...wordOf(r), ...s), parity)));
      } catch {
        expected.push("none");
      }
    }
    expect(expected).toContain("none");
    for (const lanes of laneCounts) {
      for (let first = 0; first < records.length; ) {
        const size = 1 + (first % 23); // some lanes stay empty
        const some = records.slice(first, first + size);
        expect(keysOf(native, lanes, some), `${lanes} lanes from ${first}`).toEqual(expected.slice(first, first + some.length));
        first += size;
      }
    }
  });

  it.skipIf(nativeModules === undefined)("find no key for a flag above 1, and leave the other lanes alone", () => {
    const native = nativeModules!.secp256k1;
    const records = Array.from({ length: 16 }, (_, i) => {
      const key = keccak256(Uint8Array.of(i + 1));
      const message = keccak256(key);
      const [yParity, ...signature] = noble.sign(message, key, { prehash: false, format: "recovered" });
      return [...message, ...signature, yParity!];
    });
    const right = keysOf(native, 0, records);
    expect(right).not.toContain("none");
    for (const lanes of laneCounts) {
      for (const flag of [2, 3, 4, 127, 128, 254, 255]) {
        for (const wrong of [0, 1, 6, 7, 15]) {
          const given = records.map((record, i) => (i === wrong ? [...record.slice(0, 96), flag] : record));
          const expected = right.map((key, i) => (i === wrong ? "none" : key));
          expect(keysOf(native, lanes, given), `flag ${flag} at ${wrong} in ${lanes} lanes`).toEqual(expected);
        }
      }
    }
  });

  it.skipIf(nativeModules === undefined)("do nothing in more lanes than there are, or in another number of them", () => {
    const native = nativeModules!.secp256k1;
    const count = native.laneCount();
    expect(laneCounts).toContain(count);
    for (const lanes of [1, 2, 3, 5, 16, ...[4, 8].filter((some) => some > count)])
      expect(native.recoverInLanes(native.buffer(), 0, lanes), `${lanes} lanes`).toBe(0);
  });

  it("refuse the same signatures, and go on", async () => {
    const backends = [
      await loadSecp256k1Backend(),
      backendOf(await loadSecp256k1Library(), undefined),
      backendOf(await withoutBinding(), undefined),
    ];
    const one = hexToBytes("01".padStart(64, "0"));
    const order = hexToBytes(SECP256K1_N.toString(16));
    const { signature, yParity } = backends[0]!.sign(hash, privateKey);
    const bad: [Uint8Array, Uint8Array, number][] = [
      [new Uint8Array(32), one, 0],
      [one, new Uint8Array(32), 0],
      [order, one, 0],
      [one, order, 1],
      [hexToBytes("05".padStart(64, "0")), one, 0],
      [one, one, 4],
      [one, one, -1],
      // r + n is not a valid coordinate
      [signature.subarray(0, 32), signature.subarray(32), yParity + 2],
    ];
    const right = signedOf(hash, signature, yParity);
    const wrong = bad.map(([r, s, parity]) => signedOf(hash, Uint8Array.of(...r, ...s), parity));
    for (const backend of backends) {
      const own = bytesToHex(backend.publicKey(privateKey));
      for (let round = 0; round < 100; round++) {
        expect(recoverWith(backend, [...wrong, right])).toEqual([...wrong.map(() => undefined), own]);
        for (const record of wrong) expect(recoverWith(backend, [record])).toEqual([undefined]);
      }
      expect(recoverWith(backend, [right])).toEqual([own]);
    }
  });
});

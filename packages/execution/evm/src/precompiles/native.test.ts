import { nativeModules, nativeProblem } from "@rnode/native";
import { bytesToHex, concatBytes, hexToBytes, keccak256 } from "@rnode/primitives";
import { forkRules } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { engineModule } from "../testing/engine.ts";
import { Arithmetic } from "./arithmetic.ts";
import { createPrecompiles } from "./table.ts";

/**
 * Compares native code with WebAssembly, which other tests compare with independent implementations: random, extreme and
 * malicious inputs. Deterministic; `RNODE_NATIVE_ROUNDS` and `RNODE_NATIVE_SEED` select more inputs.
 */
const ROUNDS = Number(process.env.RNODE_NATIVE_ROUNDS ?? 40);
const SEED = process.env.RNODE_NATIVE_SEED ?? "0";

const rules = forkRules("osaka", "jovian");
const wasm = createPrecompiles(rules, new Arithmetic(engineModule)).table;
const native = createPrecompiles(rules, new Arithmetic(engineModule, nativeModules)).table;

const number = (value: bigint, bytes: number): Uint8Array => hexToBytes(`0x${value.toString(16).padStart(2 * bytes, "0")}`);
const BN_P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const BN_N = 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001n;
const BLS_P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;
const BLS_R = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;
const P256_P = 0xffffffff00000001000000000000000000000000ffffffffffffffffffffffffn;
const P256_N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const P256_G =
  "0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";

/** A deterministic source of bytes and choices. */
class Source {
  #state: Uint8Array;

  constructor(name: string) {
    this.#state = keccak256(new TextEncoder().encode(`${SEED} ${name}`));
  }

  bytes(length: number): Uint8Array {
    const chunks: Uint8Array[] = [];
    for (let have = 0; have < length; have += 32) {
      this.#state = keccak256(this.#state);
      chunks.push(this.#state);
    }
    return concatBytes(...chunks).slice(0, length);
  }

  below(count: number): number {
    const [a, b, c] = this.bytes(3);
    return ((a! << 16) | (b! << 8) | c!) % count;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)]!;
  }

  /** Numbers where carries and comparisons go wrong: near 0, the moduli, powers of two, and any. */
  scalar(moduli: readonly bigint[], bytes = 32): Uint8Array {
    const modulus = this.pick(moduli);
    const near = BigInt(this.below(5)) - 2n;
    const value = this.pick([
      () => BigInt(this.below(4)),
      () => modulus + near,
      () => 2n * modulus + near,
      () => (1n << BigInt(this.below(8 * bytes))) + near,
      () => (1n << BigInt(8 * bytes)) - 1n - BigInt(this.below(3)),
      () => BigInt(bytesToHex(this.bytes(bytes))),
      () => BigInt(bytesToHex(this.bytes(bytes))) % modulus,
    ])();
    return number(((value % (1n << BigInt(8 * bytes))) + (1n << BigInt(8 * bytes))) % (1n << BigInt(8 * bytes)), bytes);
  }

  /** The input, or a copy with one bit flipped. */
  damaged(input: Uint8Array): Uint8Array {
    if (this.below(6) !== 0 || input.length === 0) return input;
    const copy = input.slice();
    copy[this.below(copy.length)]! ^= 1 << this.below(8);
    return copy;
  }
}

/** The same answer of both; @returns it */
function both(address: number, input: Uint8Array): Uint8Array | undefined {
  const expected = wasm.get(address)!.run(input);
  const answer = native.get(address)!.run(input);
  const shown = (bytes: Uint8Array | undefined) => (bytes === undefined ? "failure" : bytesToHex(bytes));
  expect(shown(answer), `precompile ${address}, input ${bytesToHex(input)}`).toBe(shown(expected));
  return answer;
}

const repeat = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

// on machines without a C compiler there is nothing to compare
describe.skipIf(nativeModules === undefined)(`native code${nativeProblem === undefined ? "" : ` (${nativeProblem})`}`, () => {
  it("bn254: additions and multiplications of points, doubled, opposite, infinite and invalid ones", () => {
    const source = new Source("bn254");
    let point = concatBytes(number(1n, 32), number(2n, 32));
    for (let round = 0; round < 4 * ROUNDS; round++) {
      point = both(7, concatBytes(point, source.scalar([BN_N, BN_P]))) ?? point;
      if (point.every((byte) => byte === 0)) point = concatBytes(number(1n, 32), number(2n, 32));
      const other = both(7, concatBytes(point, source.scalar([BN_N])))!;
      const y = BigInt(bytesToHex(point.subarray(32)));
      const opposite = concatBytes(point.subarray(0, 32), number((BN_P - y) % BN_P, 32));
      for (const second of [other, point, opposite, new Uint8Array(64), source.bytes(64)]) {
        both(6, source.damaged(concatBytes(point, second)));
        both(6, concatBytes(second, point));
      }
      both(6, concatBytes(source.scalar([BN_P]), source.scalar([BN_P]), point));
    }
  });

  it("bn254: pairings", () => {
    const source = new Source("bn254 pairing");
    const g2 = hexToBytes(
      "0x198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
    );
    const g1 = concatBytes(number(1n, 32), number(2n, 32));
    const accepted: boolean[] = [];
    for (let round = 0; round < ROUNDS / 4; round++) {
      const scalar = source.scalar([BN_N]);
      const p = both(7, concatBytes(g1, scalar))!;
      const minus = concatBytes(p.subarray(0, 32), number((BN_P - BigInt(bytesToHex(p.subarray(32)))) % BN_P, 32));
      const one = both(8, concatBytes(p, g2, minus, g2));
      accepted.push(one?.[31] === 1);
      both(
        8,
        source.damaged(
          concatBytes(
            ...repeat(source.below(20), () =>
              source.pick([concatBytes(p, g2), concatBytes(minus, g2), new Uint8Array(192), concatBytes(p, new Uint8Array(128))]),
            ),
          ),
        ),
      );
    }
    expect(accepted.every((isOne) => isOne)).toBe(true);
  });

  it("P-256: signatures, and bytes that only look like some", () => {
    const source = new Source("p256");
    const key = hexToBytes(P256_G); // of the private key 1
    for (let round = 0; round < 8 * ROUNDS; round++) {
      const hash = source.scalar([P256_N]);
      const k = 1n; // R = G
      const r = BigInt(bytesToHex(key.subarray(0, 32))) % P256_N;
      const s = (BigInt(bytesToHex(hash)) + r) % P256_N; // k⁻¹(h + r·d)
      const valid = concatBytes(hash, number(r, 32), number(s, 32), key);
      const answer = both(0x100, valid);
      if (s !== 0n && k === 1n) expect(bytesToHex(answer!)).toBe(bytesToHex(number(1n, 32)));
      both(0x100, source.damaged(valid));
      both(0x100, concatBytes(hash, source.scalar([P256_N, P256_P]), source.scalar([P256_N, P256_P]), key));
      both(
        0x100,
        concatBytes(hash, source.scalar([P256_N]), source.scalar([P256_N]), source.scalar([P256_P]), source.scalar([P256_P])),
      );
    }
  });

  /** Points of both groups: of the subgroup by the maps; `decompressed` ones are of any order */
  const blsPoints = (source: Source) => {
    const g1 = () => both(0x10, concatBytes(new Uint8Array(16), number(BigInt(bytesToHex(source.bytes(48))) % BLS_P, 48)))!;
    const g2 = () =>
      both(
        0x11,
        concatBytes(...repeat(2, () => concatBytes(new Uint8Array(16), number(BigInt(bytesToHex(source.bytes(48))) % BLS_P, 48)))),
      )!;
    return { g1, g2 };
  };
  const blsNegated = (point: Uint8Array): Uint8Array => {
    const half = point.length / 2;
    const parts = [];
    for (let at = half; at < point.length; at += 64)
      parts.push(number((BLS_P - BigInt(bytesToHex(point.subarray(at, at + 64)))) % BLS_P, 64));
    return concatBytes(point.subarray(0, half), ...parts);
  };
  /** On the curve, hardly ever in the subgroup: x counted up until x³ + 4 has a root */
  const anyOrder = (source: Source): Uint8Array => {
    for (let x = BigInt(bytesToHex(source.bytes(40))); ; x++) {
      const square = (x * x * x + 4n) % BLS_P;
      let root = 1n;
      for (let e = (BLS_P + 1n) / 4n, b = square; e > 0n; e >>= 1n, b = (b * b) % BLS_P) if (e & 1n) root = (root * b) % BLS_P;
      if ((root * root) % BLS_P === square) return concatBytes(number(x, 64), number(root, 64));
    }
  };

  it("BLS12-381: additions", () => {
    const source = new Source("bls add");
    const { g1, g2 } = blsPoints(source);
    for (let round = 0; round < ROUNDS / 2; round++) {
      for (const [address, make, bytes] of [
        [0x0b, g1, 128],
        [0x0d, g2, 256],
      ] as const) {
        const p = make();
        for (const q of [make(), p, blsNegated(p), new Uint8Array(bytes), source.bytes(bytes)]) {
          both(address, source.damaged(concatBytes(p, q)));
          both(address, concatBytes(q, p));
        }
      }
      both(0x0b, concatBytes(anyOrder(source), anyOrder(source)));
      both(0x10, source.scalar([BLS_P], 64));
      both(0x11, concatBytes(source.scalar([BLS_P], 64), source.scalar([BLS_P], 64)));
    }
  });

  it("BLS12-381: multi-scalar multiplications, with points outside the subgroup too", () => {
    const source = new Source("bls msm");
    const { g1, g2 } = blsPoints(source);
    const known = { 12: repeat(6, g1), 14: repeat(6, g2) };
    for (let round = 0; round < ROUNDS / 2; round++) {
      for (const address of [12, 14] as const) {
        const points = [...known[address], blsNegated(known[address][0]!), new Uint8Array(address === 12 ? 128 : 256)];
        if (address === 12 && source.below(4) === 0) points.push(anyOrder(source));
        const input = repeat(1 + source.below(40), () => concatBytes(source.pick(points), source.scalar([BLS_R])));
        both(address, source.damaged(concatBytes(...input)));
      }
    }
  });

  it("BLS12-381: pairings", () => {
    const source = new Source("bls pairing");
    const { g1, g2 } = blsPoints(source);
    for (let round = 0; round < ROUNDS / 4; round++) {
      const [p, q] = [g1(), g2()];
      const one = both(0x0f, concatBytes(p, q, blsNegated(p), q));
      expect(one?.[31]).toBe(1);
      both(0x0f, concatBytes(p, q));
      const pairs = [
        concatBytes(p, q),
        concatBytes(new Uint8Array(128), q),
        concatBytes(p, new Uint8Array(256)),
        concatBytes(blsNegated(p), q),
      ];
      if (source.below(4) === 0) pairs.push(concatBytes(anyOrder(source), q));
      both(0x0f, source.damaged(concatBytes(...repeat(1 + source.below(20), () => source.pick(pairs)))));
    }
  });

  it("KZG proofs", () => {
    const source = new Source("kzg");
    const infinity = concatBytes(Uint8Array.of(0xc0), new Uint8Array(47));
    const hash = hexToBytes("0x010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014");
    expect(both(0x0a, concatBytes(hash, number(2n, 32), number(0n, 32), infinity, infinity))).toBeDefined();
    for (let round = 0; round < ROUNDS; round++) {
      const proof = source.bytes(48);
      proof[0] = (proof[0]! & 0x3f) | 0x80;
      both(0x0a, concatBytes(hash, source.scalar([BLS_R]), source.scalar([BLS_R]), infinity, source.pick([proof, infinity])));
    }
  });

  it("does inputs that are larger than its memory in WebAssembly", () => {
    const input = new Uint8Array(192 * 5500); // pairs of infinity
    expect(input.length).toBeGreaterThan(nativeModules!.precompiles.size);
    expect(new Arithmetic(engineModule, nativeModules).curves(input.length).exports).not.toBe(nativeModules!.precompiles);
    expect(bytesToHex(both(8, input)!)).toBe(bytesToHex(number(1n, 32)));
  });
});

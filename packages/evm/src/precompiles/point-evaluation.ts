import { bls12_381 } from "@noble/curves/bls12-381.js";
import { bytesToBigint, concatBytes, equalBytes, hexToBytes, sha256 } from "@rnode/primitives";
import type { Precompile } from "./precompile.ts";

/** Verifies that a polynomial, given by its KZG commitment, has the value `y` at `z`. */
export interface KzgVerifier {
  /** commitment and proof 48 bytes each, z and y 32; false for anything malformed */
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean;
}

const G1 = bls12_381.G1.Point;
const G2 = bls12_381.G2.Point;
const FIELD_ORDER = bls12_381.fields.Fr.ORDER;

/** τ·G2 of the KZG ceremony, the only part of the trusted setup that verification needs */
const TAU_G2_HEX =
  "b5bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2";

/** Pure JavaScript: tens of milliseconds per proof. The native library replaces it if available. */
export const portableKzgVerifier: KzgVerifier = {
  verifyKzgProof(commitment, z, y, proof) {
    const zValue = bytesToBigint(z);
    const yValue = bytesToBigint(y);
    if (zValue >= FIELD_ORDER || yValue >= FIELD_ORDER) return false;
    try {
      const c = pointOf(commitment);
      const w = pointOf(proof);
      // e(C − y·G1 + z·W, G2) = e(W, τ·G2)
      const left = c.subtract(times(G1.BASE, yValue)).add(times(w, zValue));
      const pairs = [
        { g1: left, g2: G2.BASE },
        { g1: w.negate(), g2: G2.fromHex(TAU_G2_HEX) },
      ].filter(({ g1 }) => !g1.equals(G1.ZERO));
      const { Fp12 } = bls12_381.fields;
      return pairs.length === 0 || Fp12.eql(bls12_381.pairingBatch(pairs), Fp12.ONE);
    } catch {
      return false; // not a point, or not in the subgroup
    }
  },
};

const INFINITY = new Uint8Array(48);
INFINITY[0] = 0xc0;

/** A compressed point of the subgroup. @throws if it is not one */
function pointOf(bytes: Uint8Array) {
  if (equalBytes(bytes, INFINITY)) return G1.ZERO;
  const point = G1.fromBytes(bytes.slice());
  point.assertValidity();
  return point;
}

const times = (point: InstanceType<typeof G1>, scalar: bigint) => (scalar === 0n ? G1.ZERO : point.multiplyUnsafe(scalar));

const INPUT_BYTES = 192;
/** The output: number of field elements of a blob, and the field's order, one word each. */
const OUTPUT = concatBytes(
  hexToBytes(`0x${(4096).toString(16).padStart(64, "0")}`),
  hexToBytes(`0x${FIELD_ORDER.toString(16).padStart(64, "0")}`),
);

/** 0x0a: versioned hash ‖ z ‖ y ‖ commitment ‖ proof. Spec: EIP-4844 */
export const pointEvaluation = (kzg: KzgVerifier): Precompile => ({
  gas: () => 50_000n,
  run(input) {
    if (input.length !== INPUT_BYTES) return undefined;
    const data = input.slice();
    const commitment = data.subarray(96, 144);
    const versionedHash = sha256(commitment);
    versionedHash[0] = 0x01;
    if (!equalBytes(versionedHash, data.subarray(0, 32))) return undefined;
    const isProven = kzg.verifyKzgProof(commitment, data.subarray(32, 64), data.subarray(64, 96), data.subarray(144, 192));
    return isProven ? OUTPUT : undefined;
  },
});

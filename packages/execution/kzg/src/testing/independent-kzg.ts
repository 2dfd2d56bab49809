import { createHash } from "node:crypto";
import { bls12_381 } from "@noble/curves/bls12-381.js";

// EIP-4844's check of a blob proof, written against the specification with a pairing library that the product does not use for blobs.
// Spec: consensus-specs deneb/polynomial-commitments.md § verify_blob_kzg_proof

const { Fr } = bls12_381.fields;
const FIELD_ELEMENTS = 4096;
const PRIMITIVE_ROOT = 7n;
/** Where the polynomial has the blob's elements as values. */
const DOMAIN: readonly bigint[] = (() => {
  const root = Fr.pow(PRIMITIVE_ROOT, (Fr.ORDER - 1n) / BigInt(FIELD_ELEMENTS));
  const powers: bigint[] = [1n];
  for (let i = 1; i < FIELD_ELEMENTS; i++) powers.push(Fr.mul(powers[i - 1]!, root));
  const reversed = (index: number): number => Number.parseInt(index.toString(2).padStart(12, "0").split("").reverse().join(""), 2);
  return powers.map((_, index) => powers[reversed(index)]!);
})();

const toBigint = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);

/** @param tauG2 the trusted setup's second point of G2, 96 bytes in hex */
export function isBlobProved(blob: Uint8Array, commitment: Uint8Array, proof: Uint8Array, tauG2: string): boolean {
  const degree = Buffer.alloc(16);
  degree.writeUInt32BE(FIELD_ELEMENTS, 12);
  const digest = createHash("sha256").update("FSBLOBVERIFY_V1_").update(degree).update(blob).update(commitment).digest();
  const z = Fr.create(toBigint(digest));
  const values = Array.from({ length: FIELD_ELEMENTS }, (_, index) => toBigint(blob.subarray(index * 32, index * 32 + 32)));
  // barycentric formula: (z^n − 1) / n · Σ values[i] · domain[i] / (z − domain[i])
  const inverses = Fr.invertBatch(DOMAIN.map((point) => Fr.sub(z, point)));
  const sum = values.reduce((all, value, index) => Fr.add(all, Fr.mul(Fr.mul(value, DOMAIN[index]!), inverses[index]!)), 0n);
  const factor = Fr.div(Fr.sub(Fr.pow(z, BigInt(FIELD_ELEMENTS)), 1n), BigInt(FIELD_ELEMENTS));
  const y = Fr.mul(sum, factor);
  const { G1, G2 } = bls12_381;
  const times = <P extends { multiplyUnsafe(scalar: bigint): P }>(point: P, scalar: bigint): P => point.multiplyUnsafe(scalar);
  const left = G1.Point.fromHex(Buffer.from(commitment).toString("hex")).subtract(times(G1.Point.BASE, y));
  const right = G2.Point.fromHex(tauG2.replace("0x", "")).subtract(times(G2.Point.BASE, z));
  const opening = G1.Point.fromHex(Buffer.from(proof).toString("hex"));
  const product = bls12_381.pairingBatch([
    { g1: left.negate(), g2: G2.Point.BASE },
    { g1: opening, g2: right },
  ]);
  return bls12_381.fields.Fp12.eql(product, bls12_381.fields.Fp12.ONE);
}

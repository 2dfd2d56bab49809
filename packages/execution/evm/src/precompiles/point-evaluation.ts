import { bigintToBytes, bytesToBigint, concatBytes, equalBytes, hexToBytes, sha256 } from "@rnode/primitives";
import type { EvmModule } from "../engine/module.ts";
import { Arithmetic, type NativeArithmetic } from "./arithmetic.ts";
import type { Precompile } from "./precompile.ts";

/** Verifies that a polynomial, given by its KZG commitment, has the value `y` at `z`. */
export interface KzgVerifier {
  /**
   * Commitment and proof have 48 bytes, z and y 32.
   *
   * @returns false for malformed input; `undefined` if there is no result, so the engine verifies itself
   */
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean | undefined;
}

/** One that always has an answer, and needs no trusted setup but one point. */
export interface OwnKzgVerifier extends KzgVerifier {
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean;
}

const FIELD_ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;

/** A point by its coordinates, as the precompiles of EIP-2537 encode it. */
const encodedPoint = (...coordinates: readonly string[]): Uint8Array =>
  concatBytes(...coordinates.map((digits) => hexToBytes(`0x${digits.padStart(128, "0")}`)));

const G1 = encodedPoint(
  "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
  "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1",
);
const G2 = encodedPoint(
  "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
  "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e",
  "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801",
  "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be",
);
/** −τ·G2 of the KZG ceremony, the only part of the trusted setup that verification needs */
const MINUS_TAU_G2 = encodedPoint(
  "185cbfee53492714734429b7b38608e23926c911cceceac9a36851477ba4c60b087041de621000edc98edada20c1def2",
  "15bfd7dd8cdeb128843bc287230af38926187075cbfbefa81009a2ce615ac53d2914e5870cb452d2afaaab24f3499f72",
  "18bdbe2c8014842c7345b930a979b0355161e23be55c34a67f0c80fc60072caad1c992ee58120c7bcb966404447c8012",
  "039a4c9f2f4d940547d877eb6333918b74fd6d7af721ab9f8cd200e65ab6ee9a8a16cb8f73d9363296fa710cf2f5955c",
);

const COMPRESSED_BYTES = 48;
const G1_BYTES = 128;
const ONE = bigintToBytes(1n, 32);

/**
 * In WebAssembly. PERF: 3 ms, where the native library takes 1.3, but only after its trusted setup has been loaded for two seconds. Spec:
 * EIP-4844, `verify_kzg_proof_impl` of the consensus specifications (deneb/polynomial-commitments.md)
 */
function ownKzgVerifier(arithmetic: Arithmetic): OwnKzgVerifier {
  /** `undefined`: not a point of the curve, or not in the canonical form */
  const decompress = (bytes: Uint8Array): Uint8Array | undefined => {
    const bls12381 = arithmetic.bls12381(COMPRESSED_BYTES);
    bls12381.write(bytes, COMPRESSED_BYTES);
    return bls12381.exports.g1Decompress(bls12381.start) === 0 ? undefined : bls12381.read(G1_BYTES);
  };
  return {
    verifyKzgProof(commitment, z, y, proof) {
      const yValue = bytesToBigint(y);
      if (bytesToBigint(z) >= FIELD_ORDER || yValue >= FIELD_ORDER) return false;
      const c = decompress(commitment);
      const w = decompress(proof);
      if (c === undefined || w === undefined) return false;
      // e(C − y·G1 + z·W, G2) = e(W, τ·G2); the sum is only computed of points of the subgroup
      const minusY = bigintToBytes((FIELD_ORDER - yValue) % FIELD_ORDER, 32);
      const products = concatBytes(c, ONE, G1, minusY, w, z);
      const bls12381 = arithmetic.bls12381(products.length);
      bls12381.write(products, products.length);
      if (bls12381.exports.g1Msm(bls12381.start, 3) === 0) return false;
      const pairs = concatBytes(bls12381.read(G1_BYTES), G2, w, MINUS_TAU_G2);
      bls12381.write(pairs, pairs.length);
      return bls12381.exports.pairing(bls12381.start, 2) === 2;
    },
  };
}

/** The verifier of the precompile with its own instance. */
export const createOwnKzgVerifier = (module: EvmModule, native?: NativeArithmetic): OwnKzgVerifier =>
  ownKzgVerifier(new Arithmetic(module, native));

const INPUT_BYTES = 192;
/** The output: number of field elements of a blob, and the field's order, one word each. */
const OUTPUT = concatBytes(
  hexToBytes(`0x${(4096).toString(16).padStart(64, "0")}`),
  hexToBytes(`0x${FIELD_ORDER.toString(16).padStart(64, "0")}`),
);

/** 0x0a: versioned hash ‖ z ‖ y ‖ commitment ‖ proof. Spec: EIP-4844 */
export function pointEvaluation(arithmetic: Arithmetic, native: KzgVerifier | undefined): Precompile {
  const own = ownKzgVerifier(arithmetic);
  const verify: OwnKzgVerifier["verifyKzgProof"] = (...proof) => native?.verifyKzgProof(...proof) ?? own.verifyKzgProof(...proof);
  return {
    gas: () => 50_000n,
    run(input) {
      if (input.length !== INPUT_BYTES) return undefined;
      const data = input.slice();
      const commitment = data.subarray(96, 144);
      const versionedHash = sha256(commitment);
      versionedHash[0] = 0x01;
      if (!equalBytes(versionedHash, data.subarray(0, 32))) return undefined;
      const isProven = verify(commitment, data.subarray(32, 64), data.subarray(64, 96), data.subarray(144, 192));
      return isProven ? OUTPUT : undefined;
    },
  };
}

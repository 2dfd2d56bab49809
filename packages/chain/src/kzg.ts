import { createRequire } from "node:module";

/** The one KZG operation of the EVM: `y` is the value at `z` of the polynomial behind `commitment`. */
export interface KzgVerifier {
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean;
}

interface KzgLibrary {
  readonly DasContextJs: { create(options: { usePrecomp: boolean }): KzgVerifier };
}

const require = createRequire(import.meta.url);
let shared: KzgVerifier | undefined;

/**
 * Verifier for the point evaluation precompile. The native library and its trusted setup (2 s) are loaded at the first
 * proof, because most chains see none. A malformed point or field element is an invalid proof.
 */
export function createKzgVerifier(): KzgVerifier {
  return {
    verifyKzgProof(commitment, z, y, proof) {
      shared ??= (require("@crate-crypto/node-eth-kzg") as KzgLibrary).DasContextJs.create({ usePrecomp: false });
      try {
        return shared.verifyKzgProof(commitment, z, y, proof);
      } catch {
        return false; // the library throws on bytes that are no curve point or no canonical field element
      }
    },
  };
}

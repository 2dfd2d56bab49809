import { createRequire } from "node:module";
import { KzgError } from "./kzg-error.ts";

/** The operations of the native library that this project uses. They throw on bytes that are no points, elements or blobs. */
export interface KzgContext {
  blobToKzgCommitment(blob: Uint8Array): Uint8Array;
  computeBlobKzgProof(blob: Uint8Array, commitment: Uint8Array): Uint8Array;
  verifyBlobKzgProof(blob: Uint8Array, commitment: Uint8Array, proof: Uint8Array): boolean;
  verifyBlobKzgProofBatch(blobs: readonly Uint8Array[], commitments: readonly Uint8Array[], proofs: readonly Uint8Array[]): boolean;
  computeCells(blob: Uint8Array): Uint8Array[];
  computeCellsAndKzgProofs(blob: Uint8Array): { readonly cells: Uint8Array[]; readonly proofs: Uint8Array[] };
  verifyCellKzgProofBatch(
    commitments: readonly Uint8Array[],
    cellIndices: readonly number[],
    cells: readonly Uint8Array[],
    proofs: readonly Uint8Array[],
  ): boolean;
  verifyKzgProof(commitment: Uint8Array, z: Uint8Array, y: Uint8Array, proof: Uint8Array): boolean;
}

interface KzgLibrary {
  readonly DasContextJs: { create(options: { readonly usePrecomp: boolean }): KzgContext };
}

const require = createRequire(import.meta.url);
let shared: KzgContext | undefined;

/**
 * Loads the native library, which takes milliseconds, but not its trusted setup.
 *
 * @throws {KzgError} kzg/unsupported-platform
 */
export function loadKzgLibrary(load: () => unknown = () => require("@crate-crypto/node-eth-kzg")): KzgLibrary {
  try {
    return load() as KzgLibrary;
  } catch (cause) {
    throw new KzgError(
      "kzg/unsupported-platform",
      {
        platform: process.platform,
        arch: process.arch,
        reason: "@crate-crypto/node-eth-kzg has no prebuilt part for it: use Linux with glibc, macOS or Windows, x64 or arm64",
      },
      { cause },
    );
  }
}

/**
 * This thread's library with its trusted setup. The first call takes two seconds.
 *
 * @throws {KzgError} kzg/unsupported-platform
 */
export function kzgContext(): KzgContext {
  shared ??= createKzgContext(false);
  return shared;
}

/** @param precompute tables of 100 MB, with which cell proofs take two thirds of the time; nothing else becomes faster */
export function createKzgContext(precompute: boolean): KzgContext {
  return loadKzgLibrary().DasContextJs.create({ usePrecomp: precompute });
}

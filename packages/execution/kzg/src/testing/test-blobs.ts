import { bytesToHex, type Hex, keccak256 } from "@rnode/primitives";
import { blobVersionedHash } from "@rnode/protocol";
import { kzgContext } from "../context.ts";

export interface TestBlob {
  readonly blob: Uint8Array;
  readonly commitment: Uint8Array;
  readonly versionedHash: Uint8Array;
}

const known = new Map<Hex, TestBlob>();

/** The real commitment of a blob, computed once per content: 50 ms, and 2 s more for the first in a process. */
export function testBlob(blob: Uint8Array): TestBlob {
  const key = bytesToHex(keccak256(blob));
  const cached = known.get(key);
  if (cached !== undefined) return cached;
  const commitment = kzgContext().blobToKzgCommitment(blob);
  const made = { blob, commitment, versionedHash: blobVersionedHash(commitment) };
  known.set(key, made);
  return made;
}

/** The real proof of a blob: 55 ms. */
export const testBlobProof = ({ blob, commitment }: TestBlob): Uint8Array => kzgContext().computeBlobKzgProof(blob, commitment);

import type { Kzg } from "@rnode/kzg";
import { bytesToHex, type Hex } from "@rnode/primitives";
import { blobVersionedHash } from "@rnode/protocol";
import type { BlobCandidate } from "./beacon-answers.ts";

/**
 * A blob and the versioned hash that it was proved to have. Only the check makes one.
 *
 * Spec: docs/protocol/05-services.md#beacon-api
 */
export class VerifiedBlob {
  readonly versionedHash: Hex;
  /** 131,072 bytes */
  readonly data: Uint8Array;

  private constructor(versionedHash: Hex, data: Uint8Array) {
    this.versionedHash = versionedHash;
    this.data = data;
  }

  /**
   * The blob with its versioned hash, whatever that is. A proof is taken if it is good, which costs a twentieth of computing the
   * commitment (`packages/execution/kzg/README.md`); what a bad or missing proof leaves open, the commitment decides.
   *
   * @returns undefined: these bytes are no blob
   * @throws {CodedError} kzg/*: the check could not be made
   */
  static async check(kzg: Kzg, { blob, commitment, proof }: BlobCandidate): Promise<VerifiedBlob | undefined> {
    const isProved = commitment !== undefined && proof !== undefined && (await kzg.verifyBlobProof(blob, commitment, proof));
    const proved = isProved ? commitment : await kzg.commitment(blob);
    return proved && new VerifiedBlob(bytesToHex(blobVersionedHash(proved)), blob);
  }
}

/** The versioned hash that a commitment stands for; says nothing of any blob. */
export const hashOfCommitment = (commitment: Uint8Array): Hex => bytesToHex(blobVersionedHash(commitment));

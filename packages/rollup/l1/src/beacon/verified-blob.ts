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
   * The blob with its computed versioned hash. A valid proof is used, because its check takes a twentieth of the time of
   * computing the commitment (`packages/execution/kzg/README.md`). With an invalid or missing proof, the commitment is computed.
   *
   * @returns `undefined`: the bytes are not a blob
   * @throws {CodedError} kzg/*: the check failed to run
   */
  static async check(kzg: Kzg, { blob, commitment, proof }: BlobCandidate): Promise<VerifiedBlob | undefined> {
    const isProved = commitment !== undefined && proof !== undefined && (await kzg.verifyBlobProof(blob, commitment, proof));
    const proved = isProved ? commitment : await kzg.commitment(blob);
    return proved && new VerifiedBlob(bytesToHex(blobVersionedHash(proved)), blob);
  }
}

/** The versioned hash of a commitment; does not prove anything about a blob. */
export const hashOfCommitment = (commitment: Uint8Array): Hex => bytesToHex(blobVersionedHash(commitment));

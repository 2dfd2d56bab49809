import { ECDH } from "node:crypto";
import { defaultCrypto, setV4Crypto } from "@chainsafe/enr";
import {
  bytesToBigint,
  concatBytes,
  isCodedError,
  keccak256,
  recoverPublicKey,
  SECP256K1_HALF_N,
  signHash,
} from "@rnode/primitives";

/**
 * The identity scheme of records with rnode's secp256k1. It takes a tenth of the time of the library's own, which takes
 * milliseconds for each of the hundreds of records of a walk.
 */
export const recordCrypto: Parameters<typeof setV4Crypto>[0] = {
  publicKey: defaultCrypto.publicKey,
  sign(privateKey, message) {
    const { r, s } = signHash(keccak256(message), privateKey);
    return concatBytes(r, s);
  },
  verify(publicKey, message, signature) {
    if (signature.length !== 64 || bytesToBigint(signature.subarray(32)) > SECP256K1_HALF_N) return false;
    const hash = keccak256(message);
    const [r, s] = [signature.slice(0, 32), signature.slice(32)];
    return [0, 1].some((yParity) => isSignedBy(publicKey, hash, r, s, yParity));
  },
  nodeId(publicKey) {
    const point = ECDH.convertKey(publicKey, "secp256k1", undefined, undefined, "uncompressed") as Buffer;
    return Buffer.from(keccak256(point.subarray(1))).toString("hex");
  },
};

function isSignedBy(publicKey: Uint8Array, hash: Uint8Array, r: Uint8Array, s: Uint8Array, yParity: number): boolean {
  try {
    const point = recoverPublicKey(hash, r, s, yParity);
    return publicKey[0] === 2 + (point[63]! & 1) && Buffer.compare(point.subarray(0, 32), publicKey.subarray(1)) === 0;
  } catch (error) {
    if (isCodedError(error, "secp256k1/")) return false;
    throw error;
  }
}

/** Has the library for records use it. */
export const useRecordCrypto = (): void => setV4Crypto(recordCrypto);

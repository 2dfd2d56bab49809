import {
  createCipheriv,
  createDecipheriv,
  createECDH,
  createHash,
  createHmac,
  type ECDH,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { concatBytes } from "@rnode/primitives";
import { DevP2PError } from "../errors.ts";

/** An uncompressed public key with its prefix 0x04. */
const POINT_SIZE = 65;
const IV_SIZE = 16;
const TAG_SIZE = 32;
/** By how much a message grows when it is encrypted. */
export const ECIES_OVERHEAD = POINT_SIZE + IV_SIZE + TAG_SIZE;

/** A key pair of one handshake. */
export function newKeyPair(): ECDH {
  const pair = createECDH("secp256k1");
  pair.generateKeys();
  return pair;
}

/** @param privateKey 32 bytes */
export function keyPairOf(privateKey: Uint8Array): ECDH {
  const pair = createECDH("secp256k1");
  pair.setPrivateKey(privateKey);
  return pair;
}

/** x ‖ y, 64 bytes */
export const publicKeyOf = (pair: ECDH): Uint8Array => new Uint8Array(pair.getPublicKey().subarray(1));

/**
 * The x coordinate of the shared point, 32 bytes.
 *
 * @param publicKey x ‖ y, 64 bytes
 * @throws {DevP2PError} devp2p/bad-handshake: no point of the curve
 */
export function agree(pair: ECDH, publicKey: Uint8Array): Uint8Array {
  try {
    return new Uint8Array(pair.computeSecret(concatBytes(Uint8Array.of(4), publicKey)));
  } catch (cause) {
    throw new DevP2PError("devp2p/bad-handshake", { reason: "a public key is no point of the curve" }, { cause });
  }
}

/** NIST SP 800-56 concatenation, one round of SHA-256: the encryption key, and the preimage of the MAC key. */
function derive(shared: Uint8Array): { readonly encryptionKey: Buffer; readonly macKey: Buffer } {
  const derived = createHash("sha256")
    .update(Uint8Array.of(0, 0, 0, 1))
    .update(shared)
    .digest();
  return { encryptionKey: derived.subarray(0, 16), macKey: createHash("sha256").update(derived.subarray(16)).digest() };
}

/**
 * Encrypts to a public key: point 65 ‖ initialisation vector 16 ‖ AES-128-CTR ciphertext ‖ HMAC-SHA-256 32.
 *
 * Spec: https://github.com/ethereum/devp2p/blob/master/rlpx.md#ecies-encryption
 *
 * @param publicKey x ‖ y, 64 bytes
 * @param macData authenticated with the message, not sent with it
 */
export function encryptTo(publicKey: Uint8Array, message: Uint8Array, macData: Uint8Array): Uint8Array {
  const pair = newKeyPair();
  const { encryptionKey, macKey } = derive(agree(pair, publicKey));
  const iv = randomBytes(IV_SIZE);
  const cipher = createCipheriv("aes-128-ctr", encryptionKey, iv);
  const ciphertext = concatBytes(iv, cipher.update(message), cipher.final());
  const tag = createHmac("sha256", macKey).update(ciphertext).update(macData).digest();
  return concatBytes(pair.getPublicKey(), ciphertext, tag);
}

/** @throws {DevP2PError} devp2p/bad-handshake */
export function decryptWith(pair: ECDH, encrypted: Uint8Array, macData: Uint8Array): Uint8Array {
  if (encrypted.length < ECIES_OVERHEAD || encrypted[0] !== 4)
    throw new DevP2PError("devp2p/bad-handshake", { reason: "not encrypted to a key" });
  const { encryptionKey, macKey } = derive(agree(pair, encrypted.subarray(1, POINT_SIZE)));
  const ciphertext = encrypted.subarray(POINT_SIZE, encrypted.length - TAG_SIZE);
  const tag = createHmac("sha256", macKey).update(ciphertext).update(macData).digest();
  if (!timingSafeEqual(tag, encrypted.subarray(encrypted.length - TAG_SIZE)))
    throw new DevP2PError("devp2p/bad-handshake", { reason: "encrypted to another key" });
  const decipher = createDecipheriv("aes-128-ctr", encryptionKey, ciphertext.subarray(0, IV_SIZE));
  return concatBytes(decipher.update(ciphertext.subarray(IV_SIZE)), decipher.final());
}

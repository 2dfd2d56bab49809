import { type ECDH, randomBytes, randomInt } from "node:crypto";
import {
  concatBytes,
  decodeRlpPrefix,
  encodeRlp,
  expectRlpList,
  expectRlpString,
  isCodedError,
  keccak256,
  type RlpItem,
  RunningKeccak256,
  recoverPublicKey,
  rlpUint,
  signHash,
} from "@rnode/primitives";
import { DevP2PError } from "../errors.ts";
import { agree, decryptWith, ECIES_OVERHEAD, encryptTo, newKeyPair, publicKeyOf } from "./ecies.ts";

/** The shared secrets of a handshake. */
export interface SessionSecrets {
  /** 32 bytes */
  readonly aes: Uint8Array;
  /** 32 bytes */
  readonly mac: Uint8Array;
  readonly egressMac: RunningKeccak256;
  readonly ingressMac: RunningKeccak256;
  /** the peer's public key, x ‖ y */
  readonly remoteKey: Uint8Array;
}

const NONCE_SIZE = 32;
const SIGNATURE_SIZE = 65;
const KEY_SIZE = 64;
const VERSION = 4;
/** as much as a base message */
const MAX_BODY_BYTES = 2_048;
export const SIZE_PREFIX_BYTES = 2;

/**
 * How many bytes follow the size of a handshake message.
 *
 * @throws {DevP2PError} devp2p/bad-handshake
 */
export function handshakeBodySize(prefix: Uint8Array): number {
  const size = (prefix[0]! << 8) | prefix[1]!;
  if (size < ECIES_OVERHEAD || size > MAX_BODY_BYTES)
    throw new DevP2PError("devp2p/bad-handshake", { reason: `${size} bytes announced` });
  return size;
}

/** EIP-8: the message, zeros that hide its length, encrypted, after its size. */
function seal(remoteKey: Uint8Array, fields: readonly RlpItem[]): Uint8Array {
  const message = concatBytes(encodeRlp(fields), new Uint8Array(randomInt(100, 200)));
  const size = message.length + ECIES_OVERHEAD;
  const prefix = Uint8Array.of(size >> 8, size & 255);
  return concatBytes(prefix, encryptTo(remoteKey, message, prefix));
}

/** @param packet with its size in front */
function open(own: ECDH, packet: Uint8Array, fields: number): readonly RlpItem[] {
  const prefix = packet.subarray(0, SIZE_PREFIX_BYTES);
  const message = decryptWith(own, packet.subarray(SIZE_PREFIX_BYTES), prefix);
  return expectRlpList(decodeRlpPrefix(message, 0).item, fields);
}

const xor = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((byte, index) => byte ^ b[index]!);

const refuse = (cause: unknown): DevP2PError => {
  if (cause instanceof DevP2PError) return cause;
  if (isCodedError(cause)) return new DevP2PError("devp2p/bad-handshake", { reason: cause.message }, { cause });
  throw cause;
};

/** The end that dials. */
export class Initiator {
  /** to be sent first */
  readonly auth: Uint8Array;
  readonly #own: ECDH;
  readonly #remoteKey: Uint8Array;
  readonly #ephemeral = newKeyPair();
  readonly #nonce: Uint8Array = new Uint8Array(randomBytes(NONCE_SIZE));

  /** @param remoteKey x ‖ y. @throws {DevP2PError} devp2p/bad-handshake: no point of the curve */
  constructor(own: ECDH, remoteKey: Uint8Array) {
    this.#own = own;
    this.#remoteKey = remoteKey;
    const signed = xor(agree(own, remoteKey), this.#nonce);
    const { r, s, yParity } = signHash(signed, padded(this.#ephemeral.getPrivateKey()));
    const signature = concatBytes(r, s, Uint8Array.of(yParity));
    this.auth = seal(remoteKey, [signature, publicKeyOf(own), this.#nonce, rlpUint(VERSION)]);
  }

  /** @param ack with its size in front. @throws {DevP2PError} devp2p/bad-handshake */
  finish(ack: Uint8Array): SessionSecrets {
    try {
      const [key, nonce] = open(this.#own, ack, 2);
      const remoteNonce = expectRlpString(nonce, NONCE_SIZE);
      const shared = agree(this.#ephemeral, expectRlpString(key, KEY_SIZE));
      const { aes, mac } = secretsOf(shared, remoteNonce, this.#nonce);
      return {
        aes,
        mac,
        remoteKey: this.#remoteKey,
        egressMac: macOf(mac, remoteNonce, this.auth),
        ingressMac: macOf(mac, this.#nonce, ack),
      };
    } catch (error) {
      throw refuse(error);
    }
  }
}

/**
 * The end that was dialled.
 *
 * @param auth with its size in front
 * @throws {DevP2PError} devp2p/bad-handshake
 */
export function answerHandshake(own: ECDH, auth: Uint8Array): { readonly ack: Uint8Array; readonly secrets: SessionSecrets } {
  try {
    const [signatureItem, keyItem, nonceItem] = open(own, auth, 3);
    const signature = expectRlpString(signatureItem, SIGNATURE_SIZE);
    const remoteKey = expectRlpString(keyItem, KEY_SIZE).slice();
    const remoteNonce = expectRlpString(nonceItem, NONCE_SIZE);
    const signed = xor(agree(own, remoteKey), remoteNonce);
    const remoteEphemeral = recoverPublicKey(signed, signature.subarray(0, 32), signature.subarray(32, 64), signature[64]!);
    const ephemeral = newKeyPair();
    const nonce = new Uint8Array(randomBytes(NONCE_SIZE));
    const ack = seal(remoteKey, [publicKeyOf(ephemeral), nonce, rlpUint(VERSION)]);
    const { aes, mac } = secretsOf(agree(ephemeral, remoteEphemeral), nonce, remoteNonce);
    const egressMac = macOf(mac, remoteNonce, ack);
    const ingressMac = macOf(mac, nonce, auth);
    return { ack, secrets: { aes, mac, remoteKey, egressMac, ingressMac } };
  } catch (error) {
    throw refuse(error);
  }
}

/** @param nonce of the end that was dialled */
function secretsOf(ephemeral: Uint8Array, nonce: Uint8Array, initiatorNonce: Uint8Array) {
  const shared = keccak256(ephemeral, keccak256(nonce, initiatorNonce));
  const aes = keccak256(ephemeral, shared);
  return { aes, mac: keccak256(ephemeral, aes) };
}

function macOf(mac: Uint8Array, nonce: Uint8Array, packet: Uint8Array): RunningKeccak256 {
  const running = new RunningKeccak256();
  running.update(xor(mac, nonce));
  running.update(packet);
  return running;
}

/** A private key that Node.js gives without its leading zeros. */
function padded(key: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(32);
  bytes.set(key, 32 - key.length);
  return bytes;
}

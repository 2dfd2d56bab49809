import { type Cipher, createCipheriv, createDecipheriv, type Decipher, timingSafeEqual } from "node:crypto";
import { concatBytes, type RunningKeccak256 } from "@rnode/primitives";
import { DevP2PError } from "../errors.ts";
import type { SessionSecrets } from "./handshake.ts";

const MAC_SIZE = 16;
const BLOCK_SIZE = 16;
export const FRAME_HEADER_BYTES = BLOCK_SIZE + MAC_SIZE;
/** the maximum of the 24-bit size */
const MAX_FRAME_BYTES = 0xff_ffff;
/** RLP [capability id, context id], unused */
const HEADER_DATA = Uint8Array.of(0xc2, 0x80, 0x80);

const roundUp = (size: number): number => Math.ceil(size / BLOCK_SIZE) * BLOCK_SIZE;

/** How many bytes a frame takes after its header, for data of this size. */
export const frameBodySize = (size: number): number => roundUp(size) + MAC_SIZE;

/** The keyed hash over all that went one way. */
class FrameMac {
  readonly #hash: RunningKeccak256;
  readonly #cipher: Cipher;

  constructor(hash: RunningKeccak256, key: Uint8Array) {
    this.#hash = hash;
    this.#cipher = createCipheriv("aes-256-ecb", key, null);
    this.#cipher.setAutoPadding(false);
  }

  ofHeader(header: Uint8Array): Uint8Array {
    return this.#next(this.#hash.digest(), header);
  }

  ofBody(body: Uint8Array): Uint8Array {
    this.#hash.update(body);
    const digest = this.#hash.digest();
    return this.#next(digest, digest);
  }

  #next(digest: Uint8Array, seed: Uint8Array): Uint8Array {
    const mixed = this.#cipher.update(digest.subarray(0, BLOCK_SIZE));
    for (let i = 0; i < BLOCK_SIZE; i++) mixed[i]! ^= seed[i]!;
    this.#hash.update(mixed);
    return this.#hash.digest().subarray(0, MAC_SIZE);
  }
}

/** The frames of one connection, both ways. Spec: https://github.com/ethereum/devp2p/blob/master/rlpx.md#framing */
export class FrameCodec {
  readonly #encrypt: Cipher;
  readonly #decrypt: Decipher;
  readonly #egress: FrameMac;
  readonly #ingress: FrameMac;

  constructor({ aes, mac, egressMac, ingressMac }: SessionSecrets) {
    const iv = new Uint8Array(BLOCK_SIZE); // the key is this connection's own
    this.#encrypt = createCipheriv("aes-256-ctr", aes, iv);
    this.#decrypt = createDecipheriv("aes-256-ctr", aes, iv);
    this.#egress = new FrameMac(egressMac, mac);
    this.#ingress = new FrameMac(ingressMac, mac);
  }

  /** @throws {RangeError} it does not fit into a frame */
  seal(...data: readonly Uint8Array[]): Uint8Array {
    const size = data.reduce((sum, { length }) => sum + length, 0);
    if (size > MAX_FRAME_BYTES) throw new RangeError(`a frame of ${size} bytes`);
    const header = new Uint8Array(BLOCK_SIZE);
    header.set([size >> 16, (size >> 8) & 255, size & 255, ...HEADER_DATA]);
    const sealedHeader = this.#encrypt.update(header);
    const headerMac = this.#egress.ofHeader(sealedHeader);
    const body = this.#encrypt.update(concatBytes(...data, new Uint8Array(roundUp(size) - size)));
    return concatBytes(sealedHeader, headerMac, body, this.#egress.ofBody(body));
  }

  /** @returns the size of the frame's data. @throws {DevP2PError} devp2p/bad-frame */
  openHeader(bytes: Uint8Array): number {
    const header = bytes.subarray(0, BLOCK_SIZE);
    if (!timingSafeEqual(this.#ingress.ofHeader(header), bytes.subarray(BLOCK_SIZE, FRAME_HEADER_BYTES)))
      throw new DevP2PError("devp2p/bad-frame", { reason: "header" });
    const [high, middle, low] = this.#decrypt.update(header);
    return (high! << 16) | (middle! << 8) | low!;
  }

  /** @param bytes `frameBodySize(size)` bytes. @throws {DevP2PError} devp2p/bad-frame */
  openBody(bytes: Uint8Array, size: number): Uint8Array {
    const body = bytes.subarray(0, bytes.length - MAC_SIZE);
    if (!timingSafeEqual(this.#ingress.ofBody(body), bytes.subarray(bytes.length - MAC_SIZE)))
      throw new DevP2PError("devp2p/bad-frame", { reason: "body" });
    return this.#decrypt.update(body).subarray(0, size);
  }
}

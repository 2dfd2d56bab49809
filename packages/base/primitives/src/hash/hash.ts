import { ripemd160 as nobleRipemd160 } from "@noble/hashes/legacy.js";
import { sha256 as nobleSha256 } from "@noble/hashes/sha2.js";
import { hexToBytes } from "../bytes.ts";

export { keccak256, RunningKeccak256, writeKeccak256 } from "./keccak.ts";
export { addKeccak256, flushKeccak256, type KeccakLanes, keccakLanes } from "./keccak-batch.ts";

/** SHA-256, 32 bytes. */
export function sha256(data: Uint8Array): Uint8Array {
  return nobleSha256(data);
}

/** RIPEMD-160, 20 bytes. */
export function ripemd160(data: Uint8Array): Uint8Array {
  return nobleRipemd160(data);
}

/** keccak256 of no bytes: the code hash of an account without code. */
export const EMPTY_KECCAK = hexToBytes("0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
/** Root of the empty trie. */
export const EMPTY_TRIE_ROOT = hexToBytes("0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");
/** keccak256 of the RLP of an empty list: `sha3Uncles` of every block after the merge. */
export const EMPTY_OMMERS_HASH = hexToBytes("0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347");
/** SHA-256 of no bytes: `requestsHash` of a block without requests. */
export const EMPTY_REQUESTS_HASH = hexToBytes("0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
export const ZERO_HASH = new Uint8Array(32);
export const ZERO_ADDRESS = new Uint8Array(20);

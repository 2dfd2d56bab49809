import { createHmac, pbkdf2Sync } from "node:crypto";
import {
  bigintToBytes,
  bytesToBigint,
  concatBytes,
  privateKeyToAddress,
  privateKeyToPublicKey,
  SECP256K1_N,
} from "@rnode/primitives";

/** The phrase of all Ethereum test tools. Its keys are public. */
export const DEV_MNEMONIC = "test test test test test test test test test test test junk";

export interface DevAccount {
  /** 20 bytes */
  readonly address: Uint8Array;
  /** 32 bytes */
  readonly privateKey: Uint8Array;
}

const HARDENED = 0x8000_0000;
/** m/44'/60'/0'/0 */
const ETHEREUM_PATH = [44 + HARDENED, 60 + HARDENED, HARDENED, 0];
const SEED_ROUNDS = 2048;

interface ExtendedKey {
  readonly key: Uint8Array;
  readonly chainCode: Uint8Array;
}

/** The first `count` accounts of a phrase, m/44'/60'/0'/0/i. Spec: BIP-39 (seed), BIP-32 (keys), BIP-44 (path) */
export function devAccounts(mnemonic: string, count: number): DevAccount[] {
  const seed = pbkdf2Sync(mnemonic.normalize("NFKD"), "mnemonic", SEED_ROUNDS, 64, "sha512");
  const parent = ETHEREUM_PATH.reduce(childOf, split(createHmac("sha512", "Bitcoin seed").update(seed).digest()));
  return Array.from({ length: count }, (_, index) => {
    const { key: privateKey } = childOf(parent, index);
    return { address: privateKeyToAddress(privateKey), privateKey };
  });
}

function childOf({ key, chainCode }: ExtendedKey, index: number): ExtendedKey {
  const place = bigintToBytes(BigInt(index), 4);
  const data = index >= HARDENED ? concatBytes(Uint8Array.of(0), key, place) : concatBytes(compressed(key), place);
  const { key: tweak, chainCode: next } = split(createHmac("sha512", chainCode).update(data).digest());
  // A tweak above the order, or a sum of 0, would make the index invalid; the probability is 2^-127.
  return { key: bigintToBytes((bytesToBigint(tweak) + bytesToBigint(key)) % SECP256K1_N, 32), chainCode: next };
}

const split = (digest: Uint8Array): ExtendedKey => ({ key: digest.slice(0, 32), chainCode: digest.slice(32) });

/** 0x02 or 0x03, as y is even or odd, and x */
function compressed(privateKey: Uint8Array): Uint8Array {
  const point = privateKeyToPublicKey(privateKey);
  return concatBytes(Uint8Array.of(2 + (point[63]! & 1)), point.subarray(0, 32));
}

import { bigintToBytes, concatBytes, hexToBytes } from "@rnode/primitives";

export const word = (value: bigint | number): Uint8Array => bigintToBytes(BigInt(value), 32);
export const ones = (length: number): Uint8Array => new Uint8Array(length).fill(255);
export const repeat = (bytes: Uint8Array, count: number): Uint8Array => concatBytes(...Array.from({ length: count }, () => bytes));
const hex = (digits: string): Uint8Array => hexToBytes(`0x${digits}`);

/** Modulus and base with their highest bit set and without a pattern that would shorten divisions by them. */
export function modexp(bytes: number, exponent: Uint8Array, lowest: number): Uint8Array {
  const modulus = Uint8Array.from({ length: bytes }, (_, i) => (i * i * 37 + i * 101 + 251) % 256);
  modulus[bytes - 1] = lowest;
  const base = modulus.map((byte, i) => (i === 0 ? byte : byte ^ 0x5a));
  return concatBytes(word(bytes), word(exponent.length), word(bytes), base, exponent, modulus);
}

export const BN_G1 = concatBytes(word(1), word(2));
export const BN_G2 = hex(
  [
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
  ].join(""),
);

const blsField = (digits: string): Uint8Array => hex(digits.padStart(128, "0"));
export const BLS_G1 = concatBytes(
  blsField("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
  blsField("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"),
);
export const BLS_G2 = concatBytes(
  blsField("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
  blsField("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"),
  blsField("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
  blsField("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be"),
);

/** Signature of RFC 6979 A.2.5, message "sample", SHA-256. */
export const P256 = hex(
  [
    "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
  ].join(""),
);

/** Hash and signature from Geth's test of ecrecover. */
export const ECRECOVER = hex(
  [
    "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c",
    "000000000000000000000000000000000000000000000000000000000000001c",
    "73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f",
    "eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549",
  ].join(""),
);

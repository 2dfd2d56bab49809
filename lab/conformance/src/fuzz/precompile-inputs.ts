import { bigintToBytes, concatBytes, hexToBytes, sha256, signHash } from "@rnode/primitives";
import type { Random } from "./random.ts";

const P256_VERIFY = 0x100;

const word = (value: bigint): Uint8Array => bigintToBytes(value, 32);
const BN254_P = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;
const BN254_G1 = [
  [0n, 0n],
  [1n, 2n],
  [1n, BN254_P - 2n],
  [
    0x030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd3n,
    0x15ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4n,
  ],
  [1n, BN254_P + 2n],
  [BN254_P, 0n],
  [1n, 3n],
] as const;
export const BN254_G2 = hexToBytes(
  `0x${[
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
  ].join("")}`,
);

/** A BLS12-381 base field element in the encoding of EIP-2537: 64 bytes. */
const bls = (hex: string): Uint8Array => hexToBytes(`0x${hex.padStart(128, "0")}`);
const BLS_G1 = concatBytes(
  bls("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
  bls("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"),
);
export const BLS_G2 = concatBytes(
  bls("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
  bls("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"),
  bls("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
  bls("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be"),
);
const BLS_P = 0x1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaabn;

/** Points on the curves but outside the groups that the precompiles accept; each has the smallest possible x. */
export const NOT_IN_SUBGROUP = {
  bn254G2: concatBytes(
    word(1n),
    word(2n),
    word(0x2b76c179599bb92a963dac85546a005a777f7c13f6a7b75d5918b6b5808f5fden),
    word(0x101f7278419308b95099eca02dcee0c5381f4d26d1d62313f057167f064101cen),
  ),
  blsG1: concatBytes(
    bls("4"),
    bls("0a989badd40d6212b33cffc3f3763e9bc760f988c9926b26da9dd85e928483446346b8ed00e1de5d5ea93e354abe706c"),
  ),
  blsG2: concatBytes(
    bls("1"),
    bls("1"),
    bls("02066bca274eb64b2410222895b74acec54cf001baf6c7aeeff616820743dce87eddb1700e7a2d717dc4cea5582195e1"),
    bls("1934ffa59d993a4bcbe529440126a8af9f7bff4bc127e15ab9f75688bf07e7157d06cb8933608b225495cba14be0d33d"),
  ),
} as const;

/** Commitment and proof of the zero polynomial, whose value is 0 everywhere. */
const KZG_INFINITY = Uint8Array.from({ length: 48 }, (_, index) => (index === 0 ? 0xc0 : 0));

/** A valid P-256 signature: hash, r, s, x, y. */
const P256_SIGNATURE = hexToBytes(
  `0x${[
    "4cee90eb86eaa050036147a12d49004b6b9c72bd725d39d4785011fe190f0b4d",
    "a73bd4903f0ce3b639bbbf6e8e80d16931ff4bcf5993d58468e8fb19086e8cac",
    "36dbcd03009df8c59286b162af3bd7fcc0450c9aa81be5d10d312af6c66b1d60",
    "4aebd3099c618202fcfe16ae7770b0c49ab5eadf74b754204a3bb6060e44eff3",
    "7618b065f9832de4ca6ca971a7a1adc826d0f7c00181a5fb2ddf79ae00b4e10e",
  ].join("")}`,
);

/** A precompile and an input that it usually accepts. */
export function precompileInput(random: Random, last: number, hasP256: boolean): { number: number; input: Uint8Array } {
  const number = hasP256 && random.oneIn(8) ? P256_VERIFY : random.between(1, last);
  const input = validInput(random, number);
  if (!random.oneIn(5) || input.length === 0) return { number, input };
  if (random.oneIn(2)) return { number, input: input.subarray(0, random.below(input.length)) };
  const changed = input.slice();
  changed[random.below(changed.length)]! ^= 1 << random.below(8);
  return { number, input: changed };
}

function validInput(random: Random, number: number): Uint8Array {
  switch (number) {
    case 1: {
      const hash = random.bytes(32);
      const { r, s, yParity } = signHash(hash, concatBytes(new Uint8Array(31), Uint8Array.of(random.between(1, 255))));
      return concatBytes(hash, word(BigInt(yParity) + 27n), r, s);
    }
    case 5:
      return modexpInput(random);
    case 6:
      return concatBytes(bn254Point(random), bn254Point(random));
    case 7:
      return concatBytes(bn254Point(random), word(random.word()));
    case 8:
      return concatBytes(
        ...Array.from({ length: random.below(3) }, () => concatBytes(bn254Point(random), bn254TwistPoint(random))),
      );
    case 9:
      return concatBytes(
        Uint8Array.of(0, 0, 0, random.below(20)),
        random.bytes(208),
        Uint8Array.of(random.oneIn(10) ? 2 : random.below(2)),
      );
    case 10: {
      const versionedHash = sha256(KZG_INFINITY).slice();
      versionedHash[0] = 1;
      const y = random.oneIn(4) ? 1n : 0n;
      return concatBytes(
        versionedHash,
        word(random.oneIn(3) ? random.word() : BigInt(random.below(999))),
        word(y),
        KZG_INFINITY,
        KZG_INFINITY,
      );
    }
    case 11:
      return concatBytes(blsG1(random), blsG1(random));
    case 12:
      return concatBytes(...Array.from({ length: random.below(3) }, () => concatBytes(blsG1(random), word(random.word()))));
    case 13:
      return concatBytes(blsG2(random), blsG2(random));
    case 14:
      return concatBytes(...Array.from({ length: random.below(3) }, () => concatBytes(blsG2(random), word(random.word()))));
    case 15:
      return concatBytes(...Array.from({ length: random.below(3) }, () => concatBytes(blsG1(random), blsG2(random))));
    case 16:
      return blsField(random);
    case 17:
      return concatBytes(blsField(random), blsField(random));
    case P256_VERIFY:
      return P256_SIGNATURE;
    default:
      return random.bytes(random.below(150));
  }
}

function modexpInput(random: Random): Uint8Array {
  const lengths = Array.from({ length: 3 }, () =>
    random.oneIn(12) ? random.below(300) : random.oneIn(4) ? random.below(80) : random.below(34),
  );
  const [base = 0, exponent = 0, modulus = 0] = lengths;
  const declared = lengths.map((length) => word(random.oneIn(40) ? random.word() : BigInt(length)));
  const number = (length: number): Uint8Array => {
    const kind = random.below(4);
    if (kind === 0) return new Uint8Array(length);
    const bytes = random.bytes(length);
    if (kind === 1) bytes.fill(0, 0, random.below(length + 1));
    return bytes;
  };
  return concatBytes(...declared, number(base), number(exponent), number(modulus));
}

function bn254Point(random: Random): Uint8Array {
  const [x, y] = random.pick(random.oneIn(6) ? BN254_G1 : BN254_G1.slice(0, 4));
  return concatBytes(word(x), word(y));
}

const bn254TwistPoint = (random: Random): Uint8Array => (random.oneIn(5) ? new Uint8Array(128) : BN254_G2);
const blsG1 = (random: Random): Uint8Array => (random.oneIn(4) ? new Uint8Array(128) : BLS_G1);
const blsG2 = (random: Random): Uint8Array => (random.oneIn(4) ? new Uint8Array(256) : BLS_G2);

export function blsField(random: Random): Uint8Array {
  const value = random.oneIn(4) ? BLS_P - BigInt(random.below(3)) : random.word();
  return random.oneIn(2) ? bigintToBytes(value, 64) : concatBytes(new Uint8Array(17), random.bytes(47));
}

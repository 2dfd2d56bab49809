import type { PrecompileTable } from "@rnode/evm";
import { bigintToBytes, concatBytes, hexToBytes, sha256 } from "@rnode/primitives";
import { BLS_G1, BLS_G2, BN_G1, BN_G2, ECRECOVER, modexp, ones, P256, repeat, word } from "./precompile-inputs.ts";
import { type Family, noise, single, size, type WorstCase } from "./worst-code.ts";

interface Input {
  readonly name: string;
  readonly address: number;
  readonly input: Uint8Array;
  /** positions of bytes that take any value, and differ from call to call */
  readonly varied?: readonly number[];
  /** maximum, for those that run in the engine */
  readonly gas?: number;
}

/** Calls the precompile on its input, of which some bytes change, and drops the result. */
function worstCase(table: PrecompileTable, { name, address, input, varied = [], gas: known = 2 * input.length }: Input): WorstCase {
  const gas = Number(table.get(address)?.gas(input) ?? BigInt(known));
  if (table.has(address) && table.get(address)!.run(input) === undefined) throw new Error(`${name}: the input is refused`);
  const change = varied.map((at) => `DUP1 ${at} MSTORE8`).join(" ");
  const body = `${change} PUSH0 PUSH0 ${input.length} PUSH0 ${address} GAS STATICCALL POP 1 ADD`;
  const repetitions = gas > 20_000 ? 1 : 8;
  return single(name, { body, repetitions, margin: 20_000 + Math.ceil(1.1 * repetitions * (gas + 200)), data: input.slice() });
}

/** Points of G1 and G2 without a pattern: multiples of the generators. */
function multiples(table: PrecompileTable, address: number, generator: Uint8Array, count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => table.get(address)!.run(concatBytes(generator, noise(32, 100 + i)))!);
}

const join = (count: number, part: (i: number) => Uint8Array): Uint8Array =>
  concatBytes(...Array.from({ length: count }, (_, i) => part(i)));

/** τ·G1 of the KZG ceremony: the commitment to the polynomial x, whose proofs are the generator. */
const TAU_G1 = hexToBytes("0xad3eb50121139aa34db1d545093ac9374ab7bca2c0f3bf28e27c8dcd8fc7cb42d25926fc0c97b336e9f0fb35e5a04c81");
const G1_COMPRESSED = hexToBytes(
  "0x97f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb",
);

function kzgInput(): Uint8Array {
  const versionedHash = sha256(TAU_G1);
  versionedHash[0] = 1;
  const point = noise(32, 5);
  point[0] = 0x12;
  return concatBytes(versionedHash, point, point, TAU_G1, G1_COMPRESSED);
}

/** Lengths of base and modulus, exponents, parity: the slowest of each length is reported. */
function modexpFamilies(table: PrecompileTable): Family[] {
  const exponents: Readonly<Record<string, Uint8Array>> = {
    "exponent 2": Uint8Array.of(2),
    "exponent 3": Uint8Array.of(3),
    "exponent of 8 bytes": ones(8),
    "exponent of 31 bytes": ones(31),
    "exponent of 32 bytes": ones(32),
    "exponent of 33 bytes": concatBytes(Uint8Array.of(1), ones(32)),
    "exponent of 64 bytes, 32 of them zeros": concatBytes(new Uint8Array(32), ones(32)),
    "exponent of 1 KiB": ones(1024),
    "exponent of 1 KiB, powers of two only": concatBytes(Uint8Array.of(1), new Uint8Array(1023)),
  };
  const lengths = [1, 8, 9, 16, 24, 32, 33, 40, 48, 64, 72, 96, 128, 192, 256, 264, 384, 512, 768, 1024];
  return lengths.map((bytes) => ({
    name: `modexp, ${bytes} bytes`,
    group: "precompiles",
    variants: Object.entries(exponents).flatMap(([title, exponent]) =>
      [255, 254, 128, 0].flatMap((lowest) => {
        const parity = { 255: "odd", 254: "even", 128: "multiple of 128", 0: "multiple of 256" }[lowest];
        const input = modexp(bytes, exponent, lowest);
        // the base differs from call to call
        const full = {
          name: `modexp, ${bytes} bytes, ${parity}, ${title}`,
          address: 5,
          input,
          varied: bytes > 8 ? [96 + bytes - 1] : [],
        };
        return table.get(5)!.gas(input) > 10_000_000n ? [] : [worstCase(table, full)];
      }),
    ),
  }));
}

export function precompileFamilies(table: PrecompileTable): Family[] {
  const family = (name: string, inputs: readonly Input[]): Family => ({
    name,
    group: "precompiles",
    variants: inputs.map((input) => worstCase(table, input)),
  });
  const one = (input: Input): Family => family(input.name, [input]);
  const bn = multiples(table, 7, BN_G1, 16);
  const g1 = multiples(table, 0x0c, BLS_G1, 128);
  const g2 = multiples(table, 0x0e, BLS_G2, 128);
  const bnPair = (i: number): Uint8Array => concatBytes(bn[i % bn.length]!, BN_G2);
  const scalars = {
    random: (i: number) => noise(32, 500 + i),
    ones: () => ones(32),
    "2^255": () => word(1n << 255n),
    two: () => word(2),
  };
  return [
    family("ecrecover", [
      { name: "ecrecover", address: 1, input: ECRECOVER, varied: [0, 31] },
      { name: "ecrecover of no point", address: 1, input: concatBytes(ECRECOVER.subarray(0, 64), word(5), ECRECOVER.subarray(96)) },
    ]),
    ...[0, 32, 256, 4096, 65_536].flatMap((bytes) => [
      one({ name: `sha256, ${size(bytes)}`, address: 2, input: noise(bytes), varied: bytes > 0 ? [0] : [] }),
      one({ name: `ripemd160, ${size(bytes)}`, address: 3, input: noise(bytes), varied: bytes > 0 ? [0] : [] }),
      one({ name: `identity, ${size(bytes)}`, address: 4, input: noise(bytes) }),
    ]),
    one({ name: "identity, 1 MiB", address: 4, input: noise(24_576) }),
    ...modexpFamilies(table),
    family("bn254 add", [
      { name: "bn254 add", address: 6, input: concatBytes(bn[0]!, bn[1]!) },
      { name: "bn254 add, doubling", address: 6, input: repeat(bn[0]!, 2) },
    ]),
    family(
      "bn254 mul",
      Object.entries(scalars).map(([name, scalar]) => ({
        name: `bn254 mul, ${name}`,
        address: 7,
        input: concatBytes(bn[0]!, scalar(3)),
        varied: [95],
      })),
    ),
    ...[1, 2, 3, 10, 300].map((pairs) => one({ name: `bn254 pairing, ${pairs}`, address: 8, input: join(pairs, bnPair) })),
    family(
      "blake2f",
      [0, 1, 12, 1000, 100_000].map((rounds) => ({
        name: `blake2f, ${rounds} rounds`,
        address: 9,
        input: concatBytes(bigintToBytes(BigInt(rounds), 4), noise(208), Uint8Array.of(1)),
        varied: [10],
        gas: rounds,
      })),
    ),
    one({ name: "point evaluation", address: 0x0a, input: kzgInput(), varied: [63, 95] }),
    family("bls12-381 g1 add", [
      { name: "bls12-381 g1 add", address: 0x0b, input: concatBytes(g1[0]!, g1[1]!) },
      { name: "bls12-381 g1 add, doubling", address: 0x0b, input: repeat(g1[0]!, 2) },
    ]),
    ...[1, 2, 4, 8, 16, 32, 64, 128].flatMap((count) => [
      family(
        `bls12-381 g1 msm, ${count}`,
        Object.entries(scalars).map(([name, scalar]) => ({
          name: `bls12-381 g1 msm, ${count}, scalar ${name}`,
          address: 0x0c,
          input: join(count, (i) => concatBytes(g1[i]!, scalar(i))),
          varied: [159],
        })),
      ),
      family(
        `bls12-381 g2 msm, ${count}`,
        Object.entries(scalars).map(([name, scalar]) => ({
          name: `bls12-381 g2 msm, ${count}, scalar ${name}`,
          address: 0x0e,
          input: join(count, (i) => concatBytes(g2[i]!, scalar(i))),
          varied: [287],
        })),
      ),
    ]),
    family("bls12-381 g2 add", [
      { name: "bls12-381 g2 add", address: 0x0d, input: concatBytes(g2[0]!, g2[1]!) },
      { name: "bls12-381 g2 add, doubling", address: 0x0d, input: repeat(g2[0]!, 2) },
    ]),
    ...[1, 2, 3, 8, 100].map((pairs) =>
      one({ name: `bls12-381 pairing, ${pairs}`, address: 0x0f, input: join(pairs, (i) => concatBytes(g1[i]!, g2[i]!)) }),
    ),
    one({ name: "bls12-381 map to g1", address: 0x10, input: concatBytes(word(0), noise(32)), varied: [63] }),
    one({
      name: "bls12-381 map to g2",
      address: 0x11,
      input: concatBytes(word(0), noise(32), word(0), noise(32, 2)),
      varied: [63, 127],
    }),
    family("p256verify", [
      { name: "p256verify, valid", address: 0x100, input: P256 },
      { name: "p256verify of another hash", address: 0x100, input: P256, varied: [31] },
    ]),
  ];
}

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createKzgVerifier } from "@rnode/chain";
import { compileEvm, createPrecompileTable } from "@rnode/evm";
import { bigintToBytes, concatBytes, hexToBytes } from "@rnode/primitives";
import { forkRules } from "@rnode/protocol";
import { rnodeEngine } from "./evm-engines.ts";

/** `npm run bench -- precompiles`: the worst known inputs of each precompile, in gas per second. */

interface Case {
  readonly name: string;
  readonly address: number;
  readonly input: Uint8Array;
}

const word = (value: bigint | number): Uint8Array => bigintToBytes(BigInt(value), 32);
const ones = (length: number): Uint8Array => new Uint8Array(length).fill(255);
const repeat = (bytes: Uint8Array, count: number): Uint8Array => concatBytes(...Array.from({ length: count }, () => bytes));
const hex = (digits: string): Uint8Array => hexToBytes(`0x${digits}`);

/** Modulus and base with their highest bit set and without a pattern that would shorten divisions by them. */
function modexp(bytes: number, exponent: Uint8Array, lowest: number): Uint8Array {
  const modulus = Uint8Array.from({ length: bytes }, (_, i) => (i * i * 37 + i * 101 + 251) % 256);
  modulus[bytes - 1] = lowest;
  const base = modulus.map((byte, i) => (i === 0 ? byte : byte ^ 0x5a));
  return concatBytes(word(bytes), word(exponent.length), word(bytes), base, exponent, modulus);
}

const BN_G1 = concatBytes(word(1), word(2));
const BN_G2 = hex(
  [
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2",
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed",
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b",
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa",
  ].join(""),
);
const BN_PAIR = concatBytes(BN_G1, BN_G2);

const blsField = (digits: string): Uint8Array => hex(digits.padStart(128, "0"));
const BLS_G1 = concatBytes(
  blsField("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
  blsField("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1"),
);
const BLS_G2 = concatBytes(
  blsField("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
  blsField("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e"),
  blsField("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
  blsField("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be"),
);

/** Signature of RFC 6979 A.2.5, message "sample", SHA-256. */
const P256 = hex(
  [
    "af2bdbe1aa9b6ec1e2ade1d694f41fc71a831d0268e9891562113d8a62add1bf",
    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
    "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
    "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299",
  ].join(""),
);

/** Hash and signature from Geth's test of ecrecover. */
const ECRECOVER = hex(
  [
    "18c547e4f7b0f325ad1e56f57e26c745b09a3e503d86e00e5255ff7f715d3d1c",
    "000000000000000000000000000000000000000000000000000000000000001c",
    "73b1693892219d736caba55bdb67216e485557ea6b6af75f37096c9aa6a5a75f",
    "eeb940b1d03b21e36b0e47e79769f095fe2ab855bd91e3a38756b7d75a9c4549",
  ].join(""),
);

/** The point at infinity as commitment and proof of the zero polynomial. */
const INFINITY = concatBytes(hex("c0"), new Uint8Array(47));
const KZG_VERSIONED_HASH = hex("010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014");

const CASES: readonly Case[] = [
  { name: "ecrecover", address: 1, input: ECRECOVER },
  { name: "ripemd160, 32 bytes", address: 3, input: ones(32) },
  { name: "ripemd160, 64 kB", address: 3, input: ones(65_536) },
  ...[8, 16, 24, 32, 40, 64, 128, 256, 512, 1024].map((bytes) => ({
    name: `modexp, ${bytes} bytes odd`,
    address: 5,
    input: modexp(bytes, ones(32), 255),
  })),
  ...[8, 32, 128, 256].map((bytes) => ({ name: `modexp, ${bytes} bytes even`, address: 5, input: modexp(bytes, ones(32), 128) })),
  { name: "modexp, 8 bytes, exponent 74 bytes", address: 5, input: modexp(8, ones(74), 255) },
  { name: "modexp, 32 bytes, exponent 3", address: 5, input: modexp(32, new Uint8Array([3]), 255) },
  { name: "modexp, 8 bytes, exponent 1 kB", address: 5, input: modexp(8, ones(1024), 255) },
  { name: "modexp, 192 bytes, exponent 3", address: 5, input: modexp(192, new Uint8Array([3]), 255) },
  { name: "modexp, 264 bytes, exponent 3", address: 5, input: modexp(264, new Uint8Array([3]), 255) },
  { name: "bn254 add", address: 6, input: repeat(BN_G1, 2) },
  { name: "bn254 mul", address: 7, input: concatBytes(BN_G1, ones(32)) },
  ...[1, 2, 10, 100].map((pairs) => ({ name: `bn254 pairing, ${pairs}`, address: 8, input: repeat(BN_PAIR, pairs) })),
  {
    name: "point evaluation",
    address: 10,
    input: concatBytes(KZG_VERSIONED_HASH, word(2), word(0), INFINITY, INFINITY),
  },
  { name: "bls12-381 g1 add", address: 0x0b, input: repeat(BLS_G1, 2) },
  ...[1, 16, 128].map((n) => ({ name: `bls12-381 g1 msm, ${n}`, address: 0x0c, input: repeat(concatBytes(BLS_G1, ones(32)), n) })),
  { name: "bls12-381 g2 add", address: 0x0d, input: repeat(BLS_G2, 2) },
  ...[1, 16, 128].map((n) => ({ name: `bls12-381 g2 msm, ${n}`, address: 0x0e, input: repeat(concatBytes(BLS_G2, ones(32)), n) })),
  ...[1, 2, 8].map((n) => ({ name: `bls12-381 pairing, ${n}`, address: 0x0f, input: repeat(concatBytes(BLS_G1, BLS_G2), n) })),
  { name: "bls12-381 map to g1", address: 0x10, input: concatBytes(word(0), word(7)) },
  { name: "bls12-381 map to g2", address: 0x11, input: concatBytes(word(0), word(7), word(0), word(8)) },
  { name: "p256verify", address: 0x100, input: P256 },
];

/** Many rounds, because other work on the machine slows most of them down. */
const ROUNDS = 15;

const cpuUs = (): number => process.cpuUsage().user;

/** CPU time of one run in µs: the best of several rounds, each long enough to be measured. */
function measure(run: () => void): number {
  let count = 1;
  for (; ; count *= 2) {
    const started = cpuUs();
    for (let i = 0; i < count; i++) run();
    if (cpuUs() - started > 40_000) break;
  }
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    const started = cpuUs();
    for (let i = 0; i < count; i++) run();
    best = Math.min(best, (cpuUs() - started) / count);
  }
  return best;
}

/** Code that calls the contract at `address` with its whole calldata `count` times: for the precompiles inside the engine. */
function callerOf(address: number, count: number): Uint8Array {
  const counter = count.toString(16).padStart(4, "0");
  const to = address.toString(16).padStart(2, "0");
  // calldatacopy(0, 0, size); for (n = count; n > 0; n--) staticcall(gas, address, 0, size, 0, 0)
  return hex(`36600060003761${counter}5b6000600036600060${to}5afa50600190038060095700`);
}

const ENGINE_CASES: readonly (Case & { readonly gas: number })[] = [
  { name: "sha256, 32 bytes", address: 2, input: ones(32), gas: 72 },
  { name: "sha256, 64 kB", address: 2, input: ones(65_536), gas: 60 + 12 * 2048 },
  { name: "identity, 64 kB", address: 4, input: ones(65_536), gas: 15 + 3 * 2048 },
  {
    name: "blake2f, 10,000 rounds",
    address: 9,
    input: concatBytes(bigintToBytes(10_000n, 4), ones(208), new Uint8Array([1])),
    gas: 10_000,
  },
  { name: "blake2f, 12 rounds", address: 9, input: concatBytes(bigintToBytes(12n, 4), ones(208), new Uint8Array([1])), gas: 12 },
];

const CALLER = hex("c0de".padStart(40, "0"));
const CALLS = 1000;

async function engineRows(only: string | undefined): Promise<Row[]> {
  const rows: Row[] = [];
  for (const { name, address, input, gas } of ENGINE_CASES) {
    if (only !== undefined && !name.includes(only)) continue;
    const engine = rnodeEngine([{ address: CALLER, code: callerOf(address, CALLS) }]);
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < ROUNDS; round++) {
      const started = cpuUs();
      await engine.call(CALLER, input);
      best = Math.min(best, cpuUs() - started);
    }
    engine.close();
    // includes the price of the call itself (100, warm)
    rows.push({ name, gas: gas + 100, us: best / CALLS });
  }
  return rows;
}

interface Row {
  readonly name: string;
  readonly gas: number;
  readonly us: number;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(({ name, gas, us }) => [
    name,
    String(gas),
    us < 100 ? us.toFixed(1) : us.toFixed(0),
    (gas / us).toFixed(1),
  ]);
  const all = [["input", "gas", "µs", "Mgas/s"], ...lines];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...all.map((line) => line[column]!.length)));
  const render = (line: readonly string[]) => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(" | ")} |`;
  const [head, ...rest] = all.map(render);
  return [head, `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rest].join("\n");
}

export async function main(args: readonly string[]): Promise<number> {
  const only = args[0];
  const wasm = compileEvm(readFileSync(createRequire(import.meta.url).resolve("@rnode/evm/engine.wasm")));
  const precompiles = createPrecompileTable(wasm, forkRules("osaka"), createKzgVerifier());
  const before = createPrecompileTable(wasm, forkRules("cancun"), createKzgVerifier());
  const rows: Row[] = [];
  for (const { name, address, input } of CASES) {
    if (only !== undefined && !name.includes(only)) continue;
    // MODEXP is cheapest from Berlin to Prague
    const precompile = (address === 5 ? before : precompiles).get(address);
    if (precompile === undefined) throw new Error(`no precompile at ${address}`);
    const output = precompile.run(input);
    if (output === undefined || output.length === 0) throw new Error(`${name}: the input is refused`);
    rows.push({ name, gas: Number(precompile.gas(input)), us: measure(() => precompile.run(input)) });
  }
  rows.push(...(await engineRows(only)));
  console.log(table(rows));
  return 0;
}

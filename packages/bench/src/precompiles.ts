import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createKzgVerifier } from "@rnode/chain";
import { compileEvm, createPrecompileTable } from "@rnode/evm";
import { bigintToBytes, concatBytes } from "@rnode/primitives";
import { forkRules } from "@rnode/protocol";
import { benchOptions } from "./bench-options.ts";
import { rnodeEngine } from "./evm-engines.ts";
import {
  BLS_G1,
  BLS_G2,
  BN_G1,
  BN_PAIR,
  ECRECOVER,
  hex,
  INFINITY,
  KZG_VERSIONED_HASH,
  modexp,
  ones,
  P256,
  repeat,
  word,
} from "./precompile-inputs.ts";

/** `npm run bench -- precompiles`: the worst known inputs of each precompile, in gas per second. */

interface Case {
  readonly name: string;
  readonly address: number;
  readonly input: Uint8Array;
}

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
  const { only } = benchOptions("precompiles", args, { only: { type: "string", help: "inputs whose name contains this" } });
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

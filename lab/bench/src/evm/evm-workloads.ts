import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { bytesToHex, hexToBytes } from "@rnode/primitives";

/** A contract with `run(uint256)`, and how many rounds use about `targetGas`. */
export interface Workload {
  readonly name: string;
  readonly address: Uint8Array;
  readonly code: Uint8Array;
  /** rounds per measured call, for a fast engine */
  readonly rounds: number;
  /** the same for an engine that is two orders of magnitude slower */
  readonly slowRounds: number;
}

export interface Contract {
  readonly address: Uint8Array;
  readonly code: Uint8Array;
}

const WORKLOADS = [
  { name: "arithmetic", contract: "Arithmetic", rounds: 200_000, slowRounds: 5000 },
  { name: "ERC-20", contract: "Erc20", rounds: 4000, slowRounds: 300 },
  { name: "fixed point", contract: "FixedPoint", rounds: 60, slowRounds: 2 },
  { name: "keccak", contract: "Keccak", rounds: 100_000, slowRounds: 4000 },
  { name: "memory", contract: "Memory", rounds: 40, slowRounds: 1 },
] as const;

/** The address at which the ERC-20 workload expects its token. */
const TOKEN_ADDRESS = hexToBytes(`0x${"70ce".padStart(40, "0")}`);

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<Record<string, Readonly<Record<string, { evm: { deployedBytecode: { object: string } } }>>>>;
}

/** Compiles contracts/Workloads.sol for Cancun. */
export function compileWorkloads(): { workloads: Workload[]; token: Contract } {
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const content = readFileSync(new URL("../../contracts/Workloads.sol", import.meta.url), "utf8");
  const input = {
    language: "Solidity",
    sources: { "Workloads.sol": { content } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: "cancun",
      outputSelection: { "*": { "*": ["evm.deployedBytecode.object"] } },
    },
  };
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
  const errors = (output.errors ?? []).filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new Error(errors.map(({ formattedMessage }) => formattedMessage).join("\n"));
  const codeOf = (name: string) => hexToBytes(output.contracts["Workloads.sol"]![name]!.evm.deployedBytecode.object);
  const workloads = WORKLOADS.map(({ contract, ...workload }, index) => ({
    ...workload,
    address: hexToBytes(`0x${(0xbe0000 + index).toString(16).padStart(40, "0")}`),
    code: codeOf(contract),
  }));
  return { workloads, token: { address: TOKEN_ADDRESS, code: codeOf("Token") } };
}

/** Calldata of `run(rounds)`. */
export function runCalldata(rounds: number): Uint8Array {
  return hexToBytes(`0xa444f5e9${rounds.toString(16).padStart(64, "0")}`);
}

/** The gas that the rounds used, and the checksum on which all engines must agree. */
export function runResult(output: Uint8Array): { gas: bigint; checksum: string } {
  if (output.length !== 64) throw new Error(`the workload returned ${bytesToHex(output)}`);
  return { gas: BigInt(bytesToHex(output.subarray(0, 32))), checksum: bytesToHex(output.subarray(32)) };
}

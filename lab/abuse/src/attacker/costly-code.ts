/** Code that burns all the gas it is given, slowly. Each is an endless loop: `JUMPDEST, body, PUSH1 0, JUMP`. */

const hex = (value: number, bytes: number): string => value.toString(16).padStart(bytes * 2, "0");

const loop = (body: string): string => `0x5b${body}600056`;

/** `STATICCALL` of a precompile with `inputBytes` of (zero) input. */
const precompile = (address: number, inputBytes: number): string => `6000600061${hex(inputBytes, 2)}600061${hex(address, 2)}5afa50`;

export const costlyCode = {
  jumps: loop(""),
  keccak: loop("61fff060002050"),
  coldAccounts: loop("5a3150"),
  coldSlots: loop("5a5450"),
  memory: loop("61ffff5150"),
  creations: loop("600060006000f050"),
  ecrecover: loop(precompile(1, 128)),
  modexp: loop(precompile(5, 1024)),
  pairing: loop(precompile(8, 384)),
  bls: loop(precompile(0x10, 64)),
} as const;

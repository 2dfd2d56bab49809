import { asm } from "@rnode/evm/testing";
import { concatBytes } from "@rnode/primitives";
import type { Contract } from "../evm/evm-workloads.ts";

/** A transaction that repeats one thing until its gas is used up, and the state it runs on (`worst-state.ts`). */
export interface WorstCase {
  readonly name: string;
  /** the first one is called */
  readonly contracts: readonly Contract[];
  /** code of the accounts 0xc1…, at most 24,576 bytes; its last four bytes equal those of the account's address */
  readonly bulk?: Uint8Array;
  /** gas with which the loop runs at least once; default: little */
  readonly leastGas?: number;
  /** the transaction fails at its end */
  readonly fails?: boolean;
}

/** Ways to do the same thing, of which only the slowest is reported. */
export interface Family {
  readonly name: string;
  readonly group: "opcodes" | "memory" | "state" | "code" | "precompiles";
  readonly variants: readonly WorstCase[];
}

const address = (last: number): Uint8Array => {
  const bytes = new Uint8Array(20);
  bytes.set([0xc0, 0xde], 0);
  bytes[19] = last;
  return bytes;
};
/** called by the transaction */
export const MAIN = address(1);
/** called by MAIN, where two contracts are needed */
export const OTHER = address(2);

/** A number that the assembler pushes with the size of an address. */
export const push = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString("hex")}`;

interface Loop {
  /** before the loop; leaves operands above the counter */
  readonly before?: string;
  /** repeated; leaves the stack's height as it was. A function gets the number of the repetition in the loop. */
  readonly body: string | ((repetition: number) => string);
  readonly repetitions?: number;
  /** the loop ends when less gas is left */
  readonly margin?: number;
  /** copied to the start of the memory */
  readonly data?: Uint8Array;
}

/**
 * Code that repeats `body` while there is gas. The lowest stack item is a counter, which starts at the first word of the call data,
 * a different one in each transaction; a body may count it up.
 */
export function loop({ before = "", body, repetitions = 16, margin = 40_000, data = new Uint8Array(0) }: Loop): Uint8Array {
  const bodies = Array.from({ length: repetitions }, (_, i) => (typeof body === "string" ? body : body(i))).join(" ");
  const copy = data.length === 0 ? "" : `${data.length} DUP1 CODESIZE SUB PUSH0 CODECOPY`;
  return concatBytes(asm(`${copy} PUSH0 CALLDATALOAD ${before} :loop ${bodies} ${margin} GAS GT @loop JUMPI STOP`), data);
}

/** A case with one contract. */
export const single = (name: string, parts: Loop, bulk?: Uint8Array): WorstCase => ({
  name,
  contracts: [{ address: MAIN, code: loop(parts) }],
  leastGas: 2 * (parts.margin ?? 0),
  ...(bulk !== undefined && { bulk }),
});

/** A family of one case. */
export const only = (group: Family["group"], worst: WorstCase): Family => ({ name: worst.name, group, variants: [worst] });

/** Bytes without a pattern, the same ones every time. */
export function noise(length: number, seed = 1): Uint8Array {
  let state = seed;
  return Uint8Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state >>> 24;
  });
}

/** 2,048: "2 KiB" */
export const size = (bytes: number): string =>
  bytes < 1024 || bytes % 1024 !== 0 ? `${bytes} B` : bytes < 1 << 20 ? `${bytes >> 10} KiB` : `${bytes >> 20} MiB`;

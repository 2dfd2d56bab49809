import type { Hex } from "@rnode/primitives";
import { EVM_FORKS, type EvmFork } from "@rnode/protocol";

/** Every fork; the first half is drawn less often. */
export const FUZZ_FORKS = EVM_FORKS;
export type FuzzFork = EvmFork;

/** Cases and the other implementation identify forks only by name, so rnode's own fork table is not used. */
export const isFuzzForkAtLeast = (fork: FuzzFork, wanted: FuzzFork): boolean =>
  FUZZ_FORKS.indexOf(fork) >= FUZZ_FORKS.indexOf(wanted);

/** The main operations of programs. */
export const FUZZ_FOCUSES = ["precompiles"] as const;
export type FuzzFocus = (typeof FUZZ_FOCUSES)[number];

export interface FuzzAccount {
  readonly address: Uint8Array;
  readonly nonce: bigint;
  readonly balance: bigint;
  readonly code: Uint8Array;
  /** slot and value, not zero */
  readonly storage: readonly (readonly [slot: bigint, value: bigint])[];
}

export interface FuzzAuthorization {
  readonly chainId: bigint;
  readonly address: Uint8Array;
  readonly nonce: bigint;
  /** index of the signing key, which both sides have */
  readonly signer: number;
}

export interface FuzzTransaction {
  /** 20 bytes; undefined creates a contract */
  readonly to: Uint8Array | undefined;
  readonly data: Uint8Array;
  readonly value: bigint;
  readonly gasLimit: bigint;
  /** before London this is the gas price, and both are the same */
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
  /** empty before Berlin */
  readonly accessList: readonly { readonly address: Uint8Array; readonly storageKeys: readonly Uint8Array[] }[];
  /** makes it type 4 */
  readonly authorizations: readonly FuzzAuthorization[] | undefined;
  /** makes it type 3 */
  readonly blobs: { readonly versionedHashes: readonly Uint8Array[]; readonly maxFeePerBlobGas: bigint } | undefined;
}

/** The transactions of one sender in one block, and the state: the whole input of both engines. */
export interface FuzzCase {
  readonly seed: number;
  readonly fork: FuzzFork;
  readonly environment: {
    readonly number: bigint;
    readonly timestamp: bigint;
    readonly beneficiary: Uint8Array;
    readonly gasLimit: bigint;
    readonly baseFeePerGas: bigint;
    /** proof of work: London */
    readonly difficulty: bigint;
    readonly prevRandao: Uint8Array;
    readonly blobBaseFee: bigint;
  };
  readonly accounts: readonly FuzzAccount[];
  readonly sender: Uint8Array;
  readonly transactions: readonly FuzzTransaction[];
}

export type TransactionEffect =
  | { readonly kind: "rejected" }
  | {
      readonly kind: "included";
      readonly status: 0 | 1;
      readonly isRevert: boolean;
      readonly gasUsed: bigint;
      readonly output: Hex;
      readonly created: Hex | undefined;
      /** address, topics and data, one text per log */
      readonly logs: readonly string[];
    };

/** The result of a case on one engine, comparable as text. */
export interface FuzzOutcome {
  readonly transactions: readonly TransactionEffect[];
  /** by address, only accounts that exist: nonce, balance, code, and storage in the order of slots */
  readonly state: ReadonlyMap<Hex, string>;
}

/** One executed instruction, as both engines report it. */
export interface FuzzStep {
  readonly pc: number;
  readonly opcode: number;
  readonly gas: bigint;
  readonly depth: number;
  /** top first, limited to the first few */
  readonly stack: readonly bigint[];
  readonly stackSize: number;
  readonly address: Hex;
}

/** How many stack items a trace keeps. */
export const TRACED_STACK_ITEMS = 7;

export function accountText(nonce: bigint, balance: bigint, code: Hex, slots: readonly (readonly [Hex, Hex])[]): string {
  const storage = [...slots].sort(([a], [b]) => (a < b ? -1 : 1)).map(([slot, value]) => `${slot}=${value}`);
  return `nonce ${nonce} balance ${balance} code ${code} storage ${storage.join(" ")}`;
}

export function describeStep(step: FuzzStep | undefined): string {
  if (step === undefined) return "(no step)";
  const { pc, opcode, gas, depth, stack, stackSize, address } = step;
  const words = stack.map((word) => word.toString(16)).join(" ");
  return `depth ${depth} ${address} pc ${pc} op 0x${opcode.toString(16).padStart(2, "0")} gas ${gas} stack(${stackSize}) ${words}`;
}

import type { ContractAnswer, ContractCall } from "@rnode/l1";
import { bytesToBigint, bytesToHex, type Hex } from "@rnode/primitives";
import type { Proposal } from "./proposal.ts";
import { ProposerError } from "./proposer-error.ts";

/** The next proposal that the L1 contract accepts. */
type NextProposal =
  /** the output of this block, and of no other */
  | { readonly kind: "block"; readonly number: number }
  /** the root of the newest block, or time, that may be proposed */
  | { readonly kind: "newest" }
  /** nothing before this time, milliseconds since the epoch */
  | { readonly kind: "later"; readonly atMs: number };

/** A root that is on L1. */
export interface PostedRoot {
  /** as in `Proposal` */
  readonly sequenceNumber: number;
  readonly root: Hex;
}

/** The state of the contract. It is read from L1 for each decision, because the proposer keeps no state of its own. */
export interface ContractState {
  readonly next: NextProposal;
  /** the newest root that matters to this proposer; undefined: none yet */
  readonly latest: PostedRoot | undefined;
}

/** Where roots are posted. Methods reject if L1 does not answer. */
export interface OutputContract {
  readonly kind: "output oracle" | "dispute games";
  readonly address: Uint8Array;
  /** whether a proposal names an L1 block whose hash the contract compares */
  readonly checksL1Block: boolean;
  state(): Promise<ContractState>;
  /** Whether this very root is on L1 already. */
  has(proposal: Proposal): Promise<boolean>;
  /** The transaction that posts the root. `currentL1` of its status ties the proposal to that branch of L1, where the contract checks it. */
  transaction(proposal: Proposal): Promise<ContractCall>;
}

/** What contracts are read with; `L1ContractClient` implements it. */
export interface ContractReader {
  read(to: Uint8Array, signature: string, args?: readonly (bigint | Uint8Array)[]): Promise<ContractAnswer>;
}

/** The words of an answer. @throws {ProposerError} proposer/bad-answer: it reverted, or has fewer words */
export async function readWords(
  reader: ContractReader,
  to: Uint8Array,
  signature: string,
  args: readonly (bigint | Uint8Array)[],
  count: number,
): Promise<readonly Uint8Array[]> {
  const answer = await reader.read(to, signature, args);
  if (answer.kind === "words" && answer.words.length >= count) return answer.words;
  const got = answer.kind === "reverted" ? answer.message : `${answer.words.length} words`;
  throw new ProposerError("proposer/bad-answer", { address: bytesToHex(to), what: signature, got });
}

/** A number that counts blocks, games or seconds. @throws {ProposerError} proposer/bad-answer: it is too large to be one */
export function wordToNumber(word: Uint8Array, address: Uint8Array, what: string): number {
  const value = bytesToBigint(word);
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new ProposerError("proposer/bad-answer", { address: bytesToHex(address), what, got: bytesToHex(word) });
}

/** The address in a word. */
export const wordToAddress = (word: Uint8Array): Uint8Array => word.subarray(12);

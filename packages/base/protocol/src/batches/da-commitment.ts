import {
  bytesToBigint,
  bytesToHex,
  codedErrors,
  concatBytes,
  equalBytes,
  type Hex,
  hexToBytes,
  keccak256,
} from "@rnode/primitives";
import type { Log } from "../transactions/receipt.ts";

/** The commitment on L1 to data on a DA server. Spec: docs/protocol/05-services.md#formats */
export type DaCommitment =
  | { readonly kind: "keccak256"; readonly hash: Uint8Array }
  /** opaque bytes for the DA service; the first byte identifies it */
  | { readonly kind: "generic"; readonly opaque: Uint8Array };

export type DaCommitmentErrorCode =
  | "da-commitment/empty"
  | "da-commitment/unknown-type"
  | "da-commitment/wrong-length"
  /** a malformed log or call of the challenge contract */
  | "da-commitment/bad-abi";

export class DaCommitmentError extends codedErrors<DaCommitmentErrorCode>({
  "da-commitment/empty": "there is no commitment",
  "da-commitment/unknown-type": "commitments of type {type} are not known",
  "da-commitment/wrong-length": "a commitment of type {type} cannot have {sizeBytes} bytes",
  "da-commitment/bad-abi": "this is not what the challenge contract writes or takes",
}) {}

/** First byte of batcher data that is a commitment; the commitment follows. */
export const DA_COMMITMENT_VERSION = 1;
/** Longer data cannot be submitted to the challenge contract, so it is skipped. */
export const MAX_DA_INPUT_BYTES = 130_672;

const TYPES = { keccak256: 0, generic: 1 } as const;
const HASH_BYTES = 32;

/** @throws {DaCommitmentError} the batcher data is skipped */
export function decodeDaCommitment(bytes: Uint8Array): DaCommitment {
  const [type] = bytes;
  if (type === undefined) throw new DaCommitmentError("da-commitment/empty");
  const rest = bytes.subarray(1);
  if (type === TYPES.keccak256) {
    if (rest.length !== HASH_BYTES) throw new DaCommitmentError("da-commitment/wrong-length", { type, sizeBytes: rest.length });
    return { kind: "keccak256", hash: rest };
  }
  if (type !== TYPES.generic) throw new DaCommitmentError("da-commitment/unknown-type", { type });
  if (rest.length === 0) throw new DaCommitmentError("da-commitment/wrong-length", { type, sizeBytes: 0 });
  return { kind: "generic", opaque: rest };
}

export function encodeDaCommitment(commitment: DaCommitment): Uint8Array {
  const body = commitment.kind === "keccak256" ? commitment.hash : commitment.opaque;
  return concatBytes(Uint8Array.of(TYPES[commitment.kind]), body);
}

export const keccakCommitment = (input: Uint8Array): DaCommitment => ({ kind: "keccak256", hash: keccak256(input) });

/** Whether the input matches the commitment; always true for a generic commitment. */
export const isInputOf = (commitment: DaCommitment, input: Uint8Array): boolean =>
  commitment.kind === "generic" || equalBytes(keccak256(input), commitment.hash);

export const CHALLENGE_STATUS_TOPIC = hexToBytes("0xc5d8c630ba2fdacb1db24c4599df78c7fb8cf97b5aecde34939597f6697bb1ad");
const RESOLVE_SELECTOR = hexToBytes("0x7ae929d9");
const WORD = 32;

/** An event of the challenge contract. */
export interface ChallengeEvent {
  readonly status: "active" | "resolved" | "other";
  /** the L1 block with the commitment */
  readonly challengedBlock: number;
  readonly commitment: DaCommitment;
}

/** ChallengeStatusChanged(uint256 indexed block, bytes commitment, uint8 status). @throws {DaCommitmentError} */
export function challengeEventFromLog({ topics, data }: Log): ChallengeEvent {
  const [, block] = topics;
  if (topics.length !== 2 || block === undefined) throw new DaCommitmentError("da-commitment/bad-abi");
  const status = wordAt(data, WORD);
  return {
    status: status === 1 ? "active" : status === 2 ? "resolved" : "other",
    challengedBlock: smallNumber(block),
    commitment: decodeDaCommitment(bytesAt(data, 0)),
  };
}

/** The third argument of resolve(uint256,bytes,bytes): the challenged data. @throws {DaCommitmentError} */
export function resolvedInput(calldata: Uint8Array): Uint8Array {
  if (!equalBytes(calldata.subarray(0, 4), RESOLVE_SELECTOR)) throw new DaCommitmentError("da-commitment/bad-abi");
  return bytesAt(calldata.subarray(4), 2 * WORD);
}

/** A commitment as a key of maps. */
export const daCommitmentKey = (commitment: DaCommitment): Hex => bytesToHex(encodeDaCommitment(commitment));

function smallNumber(word: Uint8Array): number {
  const value = bytesToBigint(word);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new DaCommitmentError("da-commitment/bad-abi");
  return Number(value);
}

function wordAt(data: Uint8Array, offset: number): number {
  const word = data.subarray(offset, offset + WORD);
  if (word.length < WORD) throw new DaCommitmentError("da-commitment/bad-abi");
  return smallNumber(word);
}

/** The bytes at the offset in the word at `headOffset`. */
function bytesAt(data: Uint8Array, headOffset: number): Uint8Array {
  const at = wordAt(data, headOffset);
  const length = wordAt(data, at);
  const bytes = data.subarray(at + WORD, at + WORD + length);
  if (bytes.length < length) throw new DaCommitmentError("da-commitment/bad-abi");
  return bytes;
}

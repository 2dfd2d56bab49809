import { decodeRlp, expectRlpString, hexToBytes, hexToFixedBytes, keccak256, padBytesLeft } from "@rnode/primitives";
import { decodeAccount, verifyProof } from "@rnode/trie";
import { faultyAnswer, readAnswer } from "../l1-error.ts";
import type { VerifiedHeader } from "./verified-header.ts";

interface ProofJson {
  readonly accountProof?: unknown;
  readonly storageProof?: unknown;
}

const WORD_BYTES = 32;

/**
 * The value of a storage slot that an answer of `eth_getProof` proves for the state of a verified header. An account or slot that
 * is proved absent is zero.
 *
 * @param slot 32 bytes, the only requested slot
 * @throws {L1Error} l1/faulty-answer
 */
export function verifiedStorage(json: unknown, block: VerifiedHeader, address: Uint8Array, slot: Uint8Array): Uint8Array {
  return readAnswer("storage proof", () => {
    const { accountProof, storageProof } = (json ?? {}) as ProofJson;
    const account = verifyProof(block.header.stateRoot, keccak256(address), proofNodes(accountProof));
    if (account === undefined) return new Uint8Array(WORD_BYTES);
    const { storageRoot } = decodeAccount(account);
    const entry: unknown = Array.isArray(storageProof) && storageProof.length === 1 ? storageProof[0] : undefined;
    const value = verifyProof(storageRoot, keccak256(slot), proofNodes((entry as { readonly proof?: unknown } | undefined)?.proof));
    if (value === undefined) return new Uint8Array(WORD_BYTES);
    return padBytesLeft(expectRlpString(decodeRlp(value)), WORD_BYTES);
  });
}

/** The answer of `eth_getStorageAt`, which nothing proves. @throws {L1Error} l1/faulty-answer */
export const statedStorage = (json: unknown): Uint8Array => readAnswer("storage", () => hexToFixedBytes(String(json), WORD_BYTES));

function proofNodes(json: unknown): Uint8Array[] {
  if (!Array.isArray(json)) throw faultyAnswer("no proof where one was asked for");
  return json.map((node) => hexToBytes(String(node)));
}

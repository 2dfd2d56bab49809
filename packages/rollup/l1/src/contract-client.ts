import { RpcError } from "@rnode/jsonrpc";
import {
  asciiToBytes,
  bigintToBytes,
  bytesToHex,
  concatBytes,
  hexToBytes,
  keccak256,
  padBytesLeft,
  toQuantity,
} from "@rnode/primitives";
import type { L1Endpoints } from "./endpoints/endpoints.ts";
import { faultyAnswer, readAnswer } from "./l1-error.ts";

const WORD_BYTES = 32;
/** Geth's and Reth's code of an answer that is a revert. */
const REVERTED_CODE = 3;
const REVERTED_TEXT = /revert|invalid opcode|out of gas|stack underflow|invalid jump/i;
/** No contract that is read through this answers with more. */
const MAX_ANSWER_WORDS = 4096;

/** One word of calldata: a number, or bytes that are padded on the left, as addresses and hashes are. */
export type AbiWord = bigint | Uint8Array;

/** Calldata of a function whose arguments are words; a dynamic argument is given as the words of its encoding. */
export function encodeCall(signature: string, words: readonly AbiWord[]): Uint8Array {
  const padded = words.map((word) => (typeof word === "bigint" ? bigintToBytes(word, WORD_BYTES) : padBytesLeft(word, WORD_BYTES)));
  return concatBytes(keccak256(asciiToBytes(signature)).subarray(0, 4), ...padded);
}

/** A contract's answer. A missing function or contract is "reverted" or an empty answer. */
export type ContractAnswer =
  | { readonly kind: "words"; readonly words: readonly Uint8Array[] }
  | { readonly kind: "reverted"; readonly message: string };

export interface ContractCall {
  readonly to: Uint8Array;
  readonly data: Uint8Array;
  readonly from?: Uint8Array | undefined;
  readonly valueWei?: bigint | undefined;
}

/** Reads contracts on L1. Answers are not verified, so a wrong answer must cost the caller no more than time. */
export class L1ContractClient {
  private readonly endpoints: L1Endpoints;

  constructor(endpoints: L1Endpoints) {
    this.endpoints = endpoints;
  }

  /** Calls a function at the newest block. @throws {L1Error} l1/unavailable */
  read(to: Uint8Array, signature: string, args: readonly AbiWord[] = []): Promise<ContractAnswer> {
    return this.ask(signature, { to, data: encodeCall(signature, args) });
  }

  /** Simulates a transaction in the next block: it reverts, or has an answer. @throws {L1Error} l1/unavailable */
  simulate(call: ContractCall): Promise<ContractAnswer> {
    return this.ask("simulation of a transaction", call);
  }

  private ask(what: string, call: ContractCall): Promise<ContractAnswer> {
    return this.endpoints.request<ContractAnswer>(what, async ({ rpc }) => {
      let answer: unknown;
      try {
        answer = await rpc.call("eth_call", [callObject(call), "latest"]);
      } catch (error) {
        // A revert is the contract's answer, not a failure of the endpoint.
        if (!(error instanceof RpcError && (error.code === REVERTED_CODE || REVERTED_TEXT.test(error.message)))) throw error;
        return { kind: "reverted", message: error.message };
      }
      const bytes = readAnswer("eth_call", () => hexToBytes(String(answer)));
      if (bytes.length % WORD_BYTES !== 0 || bytes.length > MAX_ANSWER_WORDS * WORD_BYTES) {
        throw faultyAnswer(what, { sizeBytes: bytes.length });
      }
      const count = bytes.length / WORD_BYTES;
      return {
        kind: "words",
        words: Array.from({ length: count }, (_, i) => bytes.subarray(i * WORD_BYTES, (i + 1) * WORD_BYTES)),
      };
    });
  }
}

const callObject = ({ to, data, from, valueWei }: ContractCall): Record<string, string> => ({
  to: bytesToHex(to),
  data: bytesToHex(data),
  ...(from === undefined ? {} : { from: bytesToHex(from) }),
  ...(valueWei === undefined || valueWei === 0n ? {} : { value: toQuantity(valueWei) }),
});

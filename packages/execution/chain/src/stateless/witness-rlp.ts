import { decodeRlp, encodeRlp, expectRlpList, expectRlpString } from "@rnode/primitives";
import type { Witness } from "./witness-state.ts";

/** Geth's encoding of a witness, as the Engine API carries it: [headers, codes, state, keys], the parent first among the headers. */
export const encodeWitness = ({ headers, codes, state }: Witness): Uint8Array =>
  encodeRlp([headers.map((header) => decodeRlp(header)), [...codes], [...state], []]);

/** @throws {CodedError} rlp/* */
export function decodeWitness(bytes: Uint8Array): Witness {
  const [headers, codes, state] = expectRlpList(decodeRlp(bytes), 4).map((list) => expectRlpList(list));
  return {
    headers: headers!.map((header) => encodeRlp(expectRlpList(header))),
    codes: codes!.map((code) => expectRlpString(code)),
    state: state!.map((node) => expectRlpString(node)),
  };
}

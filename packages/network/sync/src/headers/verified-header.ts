import { bytesToHex, equalBytes, isCodedError, keccak256 } from "@rnode/primitives";
import { decodeHeader, type Header } from "@rnode/protocol";

/** A header whose hash was computed from its RLP. */
export interface HashedHeader {
  readonly header: Header;
  readonly hash: Uint8Array;
  readonly rlp: Uint8Array;
}

export type HeaderVerdict =
  | { readonly kind: "headers"; readonly headers: readonly HashedHeader[] }
  | { readonly kind: "lie"; readonly detail: string };

/**
 * Decodes an answer to a request for headers, which must be consecutive: each the parent of the previous one.
 *
 * @param first the number of the first
 * @param limit number of requested headers
 */
export function descendingHeaders(encoded: readonly Uint8Array[], first: number, limit: number): HeaderVerdict {
  const lie = (detail: string) => ({ kind: "lie", detail }) as const;
  if (encoded.length > limit) return lie(`${encoded.length} headers instead of ${limit}`);
  const headers: HashedHeader[] = [];
  let child: HashedHeader | undefined;
  for (const [index, rlp] of encoded.entries()) {
    const hashed = hashedHeader(rlp);
    if (typeof hashed === "string") return lie(`header ${first - index} cannot be decoded: ${hashed}`);
    const { number } = hashed.header;
    if (number !== first - index) return lie(`header ${number} instead of ${first - index}`);
    if (child !== undefined && !equalBytes(hashed.hash, child.header.parentHash)) {
      return lie(`header ${number} ${bytesToHex(hashed.hash)} is not the parent of header ${number + 1}`);
    }
    headers.push(hashed);
    child = hashed;
  }
  return { kind: "headers", headers };
}

/** @returns why it cannot be decoded */
export function hashedHeader(rlp: Uint8Array): HashedHeader | string {
  try {
    return { header: decodeHeader(rlp), hash: keccak256(rlp), rlp };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return error.message;
  }
}

import type { CodedError } from "@rnode/primitives";

const STRUCTS: Readonly<Record<number, string>> = { 1: "AccessListTx", 2: "DynamicFeeTx", 3: "BlobTx", 4: "SetCodeTx" };

/**
 * Why bytes are no transaction, in the words of Geth's RLP decoder. It names the struct and the field; here only the struct is named.
 *
 * @param raw not empty
 */
export function gethDecodingText(raw: Uint8Array, error: CodedError): string {
  const type = raw[0]!;
  if (type < 0xc0 && raw.length < 2) return "typed transaction too short";
  const struct = `types.${type >= 0xc0 ? "LegacyTx" : (STRUCTS[type] ?? "Transaction")}`;
  const { code, data } = error.cause instanceof Error && "code" in error.cause ? (error.cause as CodedError) : error;
  switch (code) {
    case "tx/unknown-type":
      return "transaction type not supported";
    case "rlp/trailing-bytes":
      return "rlp: input contains more than one value";
    case "rlp/non-canonical-length":
    case "rlp/non-canonical-byte":
      return "rlp: non-canonical size information";
    case "rlp/expected-list":
      return `rlp: expected input list for ${struct}`;
    case "rlp/expected-string":
      return `rlp: expected input string or byte for ${struct}`;
    case "rlp/wrong-item-count":
      return Number(data.got) < Number(data.min)
        ? `rlp: too few elements for ${struct}`
        : `rlp: input list has too many elements for ${struct}`;
    case "rlp/non-canonical-integer":
      return `rlp: non-canonical integer (leading zero bytes) for ${struct}`;
    case "rlp/integer-too-large":
      return `rlp: input string too long for ${struct}`;
    case "rlp/wrong-string-length":
      return `rlp: input string too ${Number(data.got) < Number(data.expected) ? "short" : "long"} for ${struct}`;
    case "tx/bad-address-length":
      return `rlp: wrong length of an address for ${struct}`;
    case "tx/bad-signature-v":
      return "invalid transaction v, r, s values";
    default:
      return "rlp: value size exceeds available input length";
  }
}

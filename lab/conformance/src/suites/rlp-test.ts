import { basename } from "node:path";
import { bytesToHex, decodeRlp, encodeRlp, equalBytes, hexToBytes, isCodedError, type RlpItem, rlpUint } from "@rnode/primitives";
import { type CaseResult, jsonFilesBelow, readJsonFile, reportOf, resultOf, type SuiteReport } from "../vectors.ts";

/** A string is its bytes, `#` starts a decimal integer, and "VALID" or "INVALID" only states whether `out` can be decoded. */
type RlpInput = string | number | readonly RlpInput[];

interface RlpCase {
  readonly in: RlpInput;
  readonly out: string;
}

/** `RLPTests` of ethereum/tests: encoding, decoding, and rejection of non-canonical encodings. */
export function runRlpTests(folder: string): SuiteReport {
  const results: CaseResult[] = [];
  for (const path of jsonFilesBelow(folder)) {
    for (const [name, test] of Object.entries(readJsonFile(path) as Record<string, RlpCase>)) {
      results.push(resultOf(`${basename(path)} ${name}`, () => checkCase(test)));
    }
  }
  return reportOf(results);
}

function checkCase({ in: input, out }: RlpCase): string | undefined {
  const encoded = hexToBytes(out);
  if (input === "INVALID") return refuses(encoded) ? undefined : "was accepted";
  if (input === "VALID") {
    decodeRlp(encoded);
    return undefined;
  }
  const ours = encodeRlp(toItem(input));
  if (!equalBytes(ours, encoded)) return `encoded as ${bytesToHex(ours)}`;
  return equalBytes(encodeRlp(decodeRlp(encoded)), encoded) ? undefined : "does not survive decoding";
}

function refuses(encoded: Uint8Array): boolean {
  try {
    decodeRlp(encoded);
    return false;
  } catch (error) {
    if (isCodedError(error, "rlp/")) return true;
    throw error;
  }
}

function toItem(input: RlpInput): RlpItem {
  if (typeof input === "number") return rlpUint(input);
  if (typeof input !== "string") return input.map(toItem);
  return input.startsWith("#") ? rlpUint(BigInt(input.slice(1))) : new TextEncoder().encode(input);
}

import { Malformed } from "../errors.ts";
import { CompactReader } from "./compact-reader.ts";

/** Kinds of the code: raw, with its jump destinations, a delegation (EIP-7702). */
const RAW = 0;
const ANALYSED = 2;
const DELEGATION = 4;

/**
 * Decodes a row of Bytecodes: size 4 ‖ bytes ‖ kind 1. Kind 2 has an original length 8 and a bitmap behind it, all big-endian, and zeros
 * in the bytes from the original length on.
 *
 * @returns the code, a view @throws {Malformed}
 */
export function decodeBytecode(row: Uint8Array): Uint8Array {
  const fields = new CompactReader(row, 0);
  const bytes = fields.fixed(Number(fields.number(4)));
  const [kind] = fields.fixed(1);
  if (kind === RAW || kind === DELEGATION) return bytes;
  if (kind !== ANALYSED) throw new Malformed(`code of the kind ${kind}`);
  const originalBytes = Number(fields.number(8));
  if (originalBytes > bytes.length) throw new Malformed(`code of ${originalBytes} bytes has ${bytes.length}`);
  return bytes.subarray(0, originalBytes);
}

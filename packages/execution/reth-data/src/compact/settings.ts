import { Malformed } from "../errors.ts";
import { CompactReader } from "./compact-reader.ts";

/** The block number of a StageCheckpoint: flags 1 (size of the number 4 bits, a bit for what is specific to the stage) ‖ number ‖ … @throws {Malformed} */
export function decodeCheckpoint(value: Uint8Array): number {
  const fields = new CompactReader(value, 1);
  const number = fields.number(fields.flag(4));
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed(`a checkpoint at block ${number}`);
  return Number(number);
}

/** The text of a Metadata row: bytes after a length of SCALE's compact form, 1 or 2 bytes. @throws {Malformed} */
export function decodeMetadata(value: Uint8Array): string {
  const [first = 0, second = 0] = value;
  const form = first & 3;
  if (form > 1) throw new Malformed("a text of more than 16383 bytes");
  const [size, at] = form === 0 ? [first >> 2, 1] : [((second << 8) | first) >> 2, 2];
  if (value.length !== at + size) throw new Malformed(`a text of ${size} bytes in a row of ${value.length}`);
  return new TextDecoder().decode(value.subarray(at));
}

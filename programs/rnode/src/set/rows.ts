import {
  bigintToBytes,
  bytesToHex,
  CodedError,
  concatBytes,
  decodeRlp,
  expectRlpList,
  expectRlpNumber,
  expectRlpString,
  hexToBytes,
  type RlpItem,
  rlpUint,
  uint64ToBytes,
} from "@rnode/primitives";
import type { BlockId } from "@rnode/protocol";

type SetDatabaseErrorCode =
  /** a row that cannot be read: `table`, `row` */
  "set-database/invalid-row";

const HASH_BYTES = 32;

/** Rows begin with the chain id, then a block number: 40 bytes, in the order of blocks. */
export const chainKey = (chainId: bigint, number: number): Uint8Array =>
  concatBytes(bigintToBytes(chainId, 32), uint64ToBytes(number));

export const blockIdToRlp = ({ hash, number }: BlockId): RlpItem => [hexToBytes(hash), rlpUint(number)];

export function blockIdFromRlp(item: RlpItem | undefined): BlockId {
  const [hash, number] = expectRlpList(item, 2, 2);
  return { hash: bytesToHex(expectRlpString(hash, HASH_BYTES)), number: expectRlpNumber(number) };
}

/** Reads the fields of a row. @throws {CodedError} set-database/invalid-row */
export function readRow<T>(
  table: string,
  row: { readonly key: Uint8Array; readonly value: Uint8Array },
  read: (fields: readonly RlpItem[]) => T,
): T {
  try {
    return read(expectRlpList(decodeRlp(row.value)));
  } catch (cause) {
    throw new CodedError<SetDatabaseErrorCode>("set-database/invalid-row", { table, row: bytesToHex(row.key) }, { cause });
  }
}

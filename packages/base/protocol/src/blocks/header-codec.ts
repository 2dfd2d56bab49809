import {
  CodedError,
  decodeRlp,
  encodeRlp,
  expectRlpList,
  expectRlpString,
  expectRlpUint,
  isCodedError,
  keccak256,
  type RlpItem,
  rlpUint,
} from "@rnode/primitives";
import { exactFields, exactNumber, exactTimestamp } from "../params/exact-fields.ts";
import type { Header } from "./block.ts";

export type HeaderErrorCode = "header/malformed" | "header/field-gap";

/** The number of mandatory fields. */
const MANDATORY_FIELDS = 15;
const MAX_FIELDS = 23;
/** A header that ends with the block access list's hash lacks the slot number: one fork introduced both. */
const FIELDS_WITHOUT_SLOT = 22;

/**
 * RLP items of a header.
 *
 * @throws {CodedError} header/field-gap if a field is set after an unset one, or `blockAccessListHash` without `slotNumber`
 */
export function headerToRlp(header: Header): RlpItem[] {
  const items: RlpItem[] = [
    header.parentHash,
    header.ommersHash,
    header.beneficiary,
    header.stateRoot,
    header.transactionsRoot,
    header.receiptsRoot,
    header.logsBloom,
    rlpUint(header.difficulty),
    rlpUint(exactNumber(header)),
    rlpUint(header.gasLimit),
    rlpUint(header.gasUsed),
    rlpUint(exactTimestamp(header)),
    header.extraData,
    header.mixHash,
    header.nonce,
  ];
  const tail = [
    optionalUint(header.baseFeePerGas),
    header.withdrawalsRoot,
    optionalUint(header.blobGasUsed),
    optionalUint(header.excessBlobGas),
    header.parentBeaconBlockRoot,
    header.requestsHash,
    header.blockAccessListHash,
    optionalUint(header.slotNumber),
  ];
  tail.forEach((item, index) => {
    if (item === undefined) return;
    if (items.length !== MANDATORY_FIELDS + index) throw new CodedError<HeaderErrorCode>("header/field-gap", { field: index });
    items.push(item);
  });
  if (items.length === FIELDS_WITHOUT_SLOT) {
    throw new CodedError<HeaderErrorCode>("header/field-gap", { field: FIELDS_WITHOUT_SLOT - MANDATORY_FIELDS });
  }
  return items;
}

const optionalUint = (value: bigint | undefined): Uint8Array | undefined => (value === undefined ? undefined : rlpUint(value));

/** @throws {CodedError} header/field-gap */
export function encodeHeader(header: Header): Uint8Array {
  return encodeRlp(headerToRlp(header));
}

/** keccak256 of the RLP: the block hash. Not cached. */
export function hashHeader(header: Header): Uint8Array {
  return keccak256(encodeHeader(header));
}

/**
 * Decodes a header of any fork; the block's checks decide which optional fields are required. @throws {CodedError}
 * header/malformed
 */
export function decodeHeader(encoded: Uint8Array): Header {
  try {
    return headerFromRlp(decodeRlp(encoded));
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<HeaderErrorCode>("header/malformed", { reason: error.message }, { cause: error });
    }
    throw error;
  }
}

/**
 * Decodes the known fields of a header that can have more; its hash is that of the bytes.
 *
 * @throws {CodedError} header/malformed
 */
export function decodeHeaderPrefix(encoded: Uint8Array): { readonly header: Header; readonly hasMore: boolean } {
  try {
    const items = expectRlpList(decodeRlp(encoded), MANDATORY_FIELDS);
    return { header: headerFromRlp(items.slice(0, MAX_FIELDS)), hasMore: items.length > MAX_FIELDS };
  } catch (error) {
    if (isCodedError(error, "rlp/")) {
      throw new CodedError<HeaderErrorCode>("header/malformed", { reason: error.message }, { cause: error });
    }
    throw error;
  }
}

/** @throws {CodedError} rlp/*, header/malformed if it has the block access list's hash and no slot number */
export function headerFromRlp(item: RlpItem): Header {
  const items = expectRlpList(item, MANDATORY_FIELDS, MAX_FIELDS);
  if (items.length === FIELDS_WITHOUT_SLOT) {
    throw new CodedError<HeaderErrorCode>("header/malformed", { reason: "blockAccessListHash without slotNumber" });
  }
  const number = expectRlpUint(items[8], 8);
  const timestamp = expectRlpUint(items[11], 8);
  const exact = exactFields(number, timestamp);
  const header: Header = {
    parentHash: expectRlpString(items[0], 32),
    ommersHash: expectRlpString(items[1], 32),
    beneficiary: expectRlpString(items[2], 20),
    stateRoot: expectRlpString(items[3], 32),
    transactionsRoot: expectRlpString(items[4], 32),
    receiptsRoot: expectRlpString(items[5], 32),
    logsBloom: expectRlpString(items[6], 256),
    difficulty: expectRlpUint(items[7], 32),
    number: Number(number),
    gasLimit: expectRlpUint(items[9], 8),
    gasUsed: expectRlpUint(items[10], 8),
    timestamp: Number(timestamp),
    extraData: expectRlpString(items[12]),
    mixHash: expectRlpString(items[13], 32),
    nonce: expectRlpString(items[14], 8),
  };
  const count = items.length - MANDATORY_FIELDS;
  return {
    ...header,
    ...(count > 0 && { baseFeePerGas: expectRlpUint(items[15], 32) }),
    ...(count > 1 && { withdrawalsRoot: expectRlpString(items[16], 32) }),
    ...(count > 2 && { blobGasUsed: expectRlpUint(items[17], 8) }),
    ...(count > 3 && { excessBlobGas: expectRlpUint(items[18], 8) }),
    ...(count > 4 && { parentBeaconBlockRoot: expectRlpString(items[19], 32) }),
    ...(count > 5 && { requestsHash: expectRlpString(items[20], 32) }),
    ...(count > 7 && { blockAccessListHash: expectRlpString(items[21], 32), slotNumber: expectRlpUint(items[22], 8) }),
    ...(exact !== undefined && { exact }),
  };
}

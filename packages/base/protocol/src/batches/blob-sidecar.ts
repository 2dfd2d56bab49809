import {
  CodedError,
  concatBytes,
  decodeRlp,
  encodeRlp,
  equalBytes,
  expectRlpList,
  expectRlpString,
  type RlpItem,
  sha256,
} from "@rnode/primitives";
import type { BlobTransaction } from "../transactions/transaction.ts";
import { decodeTransaction, type TransactionErrorCode } from "../transactions/transaction-codec.ts";

/** The part of a blob transaction's network form that is not in a block. Spec: EIP-4844 § Networking, EIP-7594 § Networking */
export interface BlobSidecar {
  /** 0: one proof per blob; 1: one proof per cell of the extended blob */
  readonly version: 0 | 1;
  /** 131072 bytes each */
  readonly blobs: readonly Uint8Array[];
  /** 48 bytes each */
  readonly commitments: readonly Uint8Array[];
  /** 48 bytes each: one per blob, or 128 per blob */
  readonly proofs: readonly Uint8Array[];
}

export const CELLS_PER_EXTENDED_BLOB = 128;
const BLOB_BYTES = 131_072;
const POINT_BYTES = 48;
const VERSION_KZG = 0x01;
const WRAPPER_VERSION = 1;

/**
 * Decodes a blob transaction in its network form, `0x03 ‖ rlp([transaction, (version,) blobs, commitments, proofs])`, and checks
 * that its parts match. The KZG proofs are not checked.
 *
 * @throws {CodedError} tx/malformed, rlp/*
 */
export function decodeBlobTransactionWithSidecar(raw: Uint8Array): { transaction: BlobTransaction; sidecar: BlobSidecar } {
  if (raw[0] !== 0x03) throw malformed("not a blob transaction");
  const items = expectRlpList(decodeRlp(raw.subarray(1)));
  const [body, ...rest] = items;
  if (body instanceof Uint8Array || body === undefined) throw malformed("missing sidecar");
  const transaction = decodeTransaction(concatBytes(Uint8Array.of(0x03), encodeRlp(body)));
  if (transaction.type !== 0x03) throw malformed("not a blob transaction");
  const version = rest.length === 4 ? 1 : 0;
  if (version === 1) {
    const given = expectRlpString(rest.shift());
    if (given.length !== 1 || given[0] !== WRAPPER_VERSION) throw malformed("unknown sidecar version");
  }
  if (rest.length !== 3) throw malformed("wrong number of sidecar fields");
  const [blobs, commitments, proofs] = [
    bytesOf(rest[0], BLOB_BYTES),
    bytesOf(rest[1], POINT_BYTES),
    bytesOf(rest[2], POINT_BYTES),
  ] as const;
  const count = transaction.blobVersionedHashes.length;
  if (count === 0) throw malformed("no blobs");
  if (blobs.length !== count || commitments.length !== count) throw malformed(`${count} blob hashes, ${blobs.length} blobs`);
  const proofsPerBlob = version === 1 ? CELLS_PER_EXTENDED_BLOB : 1;
  if (proofs.length !== count * proofsPerBlob) throw malformed(`${proofs.length} proofs for ${count} blobs`);
  for (const [index, commitment] of commitments.entries()) {
    if (!equalBytes(blobVersionedHash(commitment), transaction.blobVersionedHashes[index]!)) {
      throw malformed(`blob ${index}: its commitment has another hash`);
    }
  }
  return { transaction, sidecar: { version, blobs, commitments, proofs } };
}

/**
 * The network form of a blob transaction; the inverse of `decodeBlobTransactionWithSidecar`.
 *
 * @param signed its EIP-2718 encoding
 */
export function encodeBlobTransactionWithSidecar(signed: Uint8Array, sidecar: BlobSidecar): Uint8Array {
  const { version, blobs, commitments, proofs } = sidecar;
  const versionItems = version === 1 ? [Uint8Array.of(WRAPPER_VERSION)] : [];
  const body = encodeRlp([decodeRlp(signed.subarray(1)), ...versionItems, blobs, commitments, proofs]);
  return concatBytes(signed.subarray(0, 1), body);
}

/** 0x01 ‖ the last 31 bytes of sha256(commitment) */
export function blobVersionedHash(commitment: Uint8Array): Uint8Array {
  const hash = sha256(commitment).slice();
  hash[0] = VERSION_KZG;
  return hash;
}

const bytesOf = (item: RlpItem | undefined, length: number): Uint8Array[] =>
  expectRlpList(item).map((entry) => expectRlpString(entry, length).slice());

const malformed = (reason: string): CodedError<TransactionErrorCode> => new CodedError("tx/malformed", { reason });

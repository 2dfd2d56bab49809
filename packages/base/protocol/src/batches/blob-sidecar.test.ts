import { bytesToHex, concatBytes, decodeRlp, encodeRlp, equalBytes, type RlpItem, sha256 } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import type { BlobTransaction } from "../transactions/transaction.ts";
import { encodeTransaction, hashTransaction, signTransaction } from "../transactions/transaction-codec.ts";
import { decodeBlobTransactionWithSidecar, encodeBlobTransactionWithSidecar } from "./blob-sidecar.ts";

const BLOB = new Uint8Array(131_072).fill(1);
const COMMITMENT = new Uint8Array(48).fill(0xc0);
const PROOF = new Uint8Array(48).fill(0xb0);
const HASH = sha256(COMMITMENT).slice();
HASH[0] = 1;

const KEY = new Uint8Array(32).fill(7);
const transaction: BlobTransaction = signTransaction(
  {
    type: 0x03,
    chainId: 1n,
    nonce: 3n,
    gasLimit: 21_000n,
    to: new Uint8Array(20).fill(2),
    value: 1n,
    data: new Uint8Array(0),
    maxFeePerGas: 10n,
    maxPriorityFeePerGas: 1n,
    maxFeePerBlobGas: 5n,
    accessList: [],
    blobVersionedHashes: [HASH, HASH],
  },
  KEY,
);
const body = decodeRlp(encodeTransaction(transaction).subarray(1));
const withoutBlobs = decodeRlp(encodeTransaction(signTransaction({ ...transaction, blobVersionedHashes: [] }, KEY)).subarray(1));
const wrapped = (...fields: RlpItem[]): Uint8Array => concatBytes(Uint8Array.of(0x03), encodeRlp([body, ...fields]));
const two = <T>(item: T): T[] => [item, item];
const cellProofs = Array.from({ length: 256 }, () => PROOF);

describe("decodeBlobTransactionWithSidecar", () => {
  it("reads a sidecar with a proof a blob", () => {
    const read = decodeBlobTransactionWithSidecar(wrapped(two(BLOB), two(COMMITMENT), two(PROOF)));
    expect(read.sidecar).toEqual({ version: 0, blobs: two(BLOB), commitments: two(COMMITMENT), proofs: two(PROOF) });
    expect(bytesToHex(hashTransaction(read.transaction))).toBe(bytesToHex(hashTransaction(transaction)));
  });

  it("reads a sidecar with a proof a cell", () => {
    const { sidecar } = decodeBlobTransactionWithSidecar(wrapped(Uint8Array.of(1), two(BLOB), two(COMMITMENT), cellProofs));
    expect(sidecar).toMatchObject({ version: 1, proofs: cellProofs });
  });

  it("reads what encodeBlobTransactionWithSidecar writes", () => {
    for (const fields of [
      [two(BLOB), two(COMMITMENT), two(PROOF)],
      [Uint8Array.of(1), two(BLOB), two(COMMITMENT), cellProofs],
    ]) {
      const raw = wrapped(...fields);
      const { transaction: read, sidecar } = decodeBlobTransactionWithSidecar(raw);
      expect(equalBytes(encodeBlobTransactionWithSidecar(encodeTransaction(read), sidecar), raw)).toBe(true);
    }
  });

  const other = new Uint8Array(48).fill(0xc1);
  it.each<[string, Uint8Array]>([
    ["another type", concatBytes(Uint8Array.of(0x02), encodeRlp([]))],
    ["no sidecar", encodeTransaction(transaction)],
    ["no blobs", concatBytes(Uint8Array.of(0x03), encodeRlp([withoutBlobs, [], [], []]))],
    ["a field too few", wrapped(two(BLOB), two(COMMITMENT))],
    ["a field too many", wrapped(Uint8Array.of(1), two(BLOB), two(COMMITMENT), cellProofs, [])],
    ["another version", wrapped(Uint8Array.of(2), two(BLOB), two(COMMITMENT), cellProofs)],
    ["a missing blob", wrapped([BLOB], two(COMMITMENT), two(PROOF))],
    ["a missing commitment", wrapped(two(BLOB), [COMMITMENT], two(PROOF))],
    ["a missing proof", wrapped(two(BLOB), two(COMMITMENT), [PROOF])],
    ["proofs of blobs where those of cells belong", wrapped(Uint8Array.of(1), two(BLOB), two(COMMITMENT), two(PROOF))],
    ["another commitment than the transaction's", wrapped(two(BLOB), [COMMITMENT, other], two(PROOF))],
    ["a short blob", wrapped(two(BLOB.subarray(1)), two(COMMITMENT), two(PROOF))],
    ["what is no list", wrapped(BLOB, two(COMMITMENT), two(PROOF))],
    ["bytes behind it", concatBytes(wrapped(two(BLOB), two(COMMITMENT), two(PROOF)), Uint8Array.of(0))],
  ])("refuses %s", (_, raw) => {
    expect(() => decodeBlobTransactionWithSidecar(raw)).toThrow(/^(transaction|RLP): /);
  });
});

import { bigintToBytes, bytesToBigint, concatBytes } from "@rnode/primitives";
import { describe, expect, it } from "vitest";
import { verifyBlobProof } from "./blob-verifier.ts";
import { kzgContext } from "./context.ts";
import { KzgAnswerer } from "./questions.ts";

const ORDER = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n;
const INFINITY = new Uint8Array(48).with(0, 0xc0);

/** A blob whose elements follow from their index. */
const blobOf = (element: (index: number) => bigint): Uint8Array =>
  concatBytes(...Array.from({ length: 4096 }, (_, index) => bigintToBytes(element(index) % ORDER, 32)));
const changed = (bytes: Uint8Array, at: number): Uint8Array => bytes.with(at, bytes[at]! ^ 1);

describe("proofs of blobs without the library's trusted setup", () => {
  const library = kzgContext();
  const proved = (blob: Uint8Array) => {
    const commitment = library.blobToKzgCommitment(blob);
    return { blob, commitment, proof: library.computeBlobKzgProof(blob, commitment) };
  };

  const libraryVerdict = (...proof: Parameters<typeof verifyBlobProof>): boolean => {
    try {
      return library.verifyBlobKzgProof(...proof);
    } catch {
      return false; // it throws on malformed input
    }
  };

  it.each<[string, Uint8Array]>([
    ["of many values", blobOf((index) => (BigInt(index) + 1n) ** 30n)],
    ["of the highest values", blobOf(() => ORDER - 1n)],
    ["of one value at the end", blobOf((index) => (index === 4095 ? 7n : 0n))],
    ["of zeros", blobOf(() => 0n)],
  ])("agrees with the library on a blob %s, and on changes of each part", (_, bytes) => {
    const { blob, commitment, proof } = proved(bytes);
    const other = proved(blobOf((index) => BigInt(index))).commitment;
    const cases: readonly (readonly [Uint8Array, Uint8Array, Uint8Array])[] = [
      [blob, commitment, proof],
      [changed(blob, 31), commitment, proof],
      [changed(blob, 131_071), commitment, proof],
      [blob, other, proof],
      [blob, commitment, other],
      [blob, INFINITY, INFINITY],
    ];
    const verdicts = cases.map((each) => verifyBlobProof(...each));
    expect(verdicts).toEqual(cases.map((each) => libraryVerdict(...each)));
    expect(verdicts[0]).toBe(true);
  });

  it("takes no elements of the order or above, no other lengths, and no bytes that are no points", () => {
    const { blob, commitment, proof } = proved(blobOf((index) => BigInt(index)));
    expect(verifyBlobProof(blob, commitment, proof)).toBe(true);
    const last = blob.slice();
    last.set(bigintToBytes(bytesToBigint(last.subarray(-32)) + ORDER, 32), last.length - 32);
    for (const [a, b, c] of [
      [last, commitment, proof],
      [blob.subarray(32), commitment, proof],
      [concatBytes(blob, new Uint8Array(32)), commitment, proof],
      [blob, commitment.subarray(1), proof],
      [blob, commitment, concatBytes(proof, proof)],
      [blob, commitment.with(0, 0x40), proof],
      [blob, commitment, new Uint8Array(48).with(0, 0x80)],
    ] as const)
      expect(verifyBlobProof(a, b, c)).toBe(false);
  });

  it("the trusted setup is loaded for other questions, and for many proofs", () => {
    const { blob, commitment, proof } = proved(blobOf(() => 0n));
    let loads = 0;
    const open = (): KzgAnswerer =>
      new KzgAnswerer(() => {
        loads++;
        return library;
      });
    const few = open();
    expect(few.answer({ kind: "verify-blob", blob, commitment, proof })).toBe(true);
    expect(loads).toBe(0);
    expect(few.answer({ kind: "commitment", blob })).toEqual(commitment);
    expect(few.answer({ kind: "commitment", blob })).toEqual(commitment);
    expect(loads).toBe(1);
    const many = open();
    for (let i = 0; i < 201; i++) many.answer({ kind: "verify-blob", blob: blob.subarray(1), commitment, proof });
    expect(loads).toBe(2);
    open().answer({ kind: "load" });
    expect(loads).toBe(3);
  });
});

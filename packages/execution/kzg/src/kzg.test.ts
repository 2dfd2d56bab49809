import { afterAll, describe, expect, it } from "vitest";
import { loadKzgLibrary } from "./context.ts";
import { createKzg } from "./create-kzg.ts";
import { testBlob, testBlobProof } from "./testing/test-blobs.ts";

const blob = Uint8Array.from({ length: 131_072 }, (_, i) => (i % 32 === 0 ? 0 : i & 255));
const zeros = new Uint8Array(131_072);
/** the point at infinity, which commits to the polynomial 0 */
const INFINITY = Uint8Array.from({ length: 48 }, (_, i) => (i === 0 ? 0xc0 : 0));
const changed = (bytes: Uint8Array, at: number): Uint8Array => Uint8Array.from(bytes, (byte, i) => (i === at ? byte ^ 1 : byte));

const kzg = createKzg();
afterAll(() => kzg.close());

describe("Kzg", () => {
  const { commitment } = testBlob(blob);
  const proof = testBlobProof(testBlob(blob));

  it("commits to blobs", async () => {
    expect(await kzg.commitment(blob)).toEqual(commitment);
    expect(await kzg.commitment(zeros)).toEqual(INFINITY);
    expect(await kzg.commitment(changed(blob, 131_071))).not.toEqual(commitment);
  });

  it.each<[string, Uint8Array]>([
    ["an element that is not below the modulus", Uint8Array.from(zeros, (_, i) => (i < 32 ? 0xff : 0))],
    ["a byte too few", zeros.subarray(1)],
    ["a byte too many", new Uint8Array(131_073)],
    ["nothing", new Uint8Array()],
  ])("takes no blob with %s", async (_, bytes) => {
    expect(await kzg.commitment(bytes)).toBeUndefined();
    await expect(kzg.blobProof(bytes, commitment)).rejects.toThrow(expect.objectContaining({ code: "kzg/not-a-blob" }));
    await expect(kzg.cellsAndProofs(bytes)).rejects.toThrow(expect.objectContaining({ code: "kzg/not-a-blob" }));
    expect(await kzg.verifyBlobProof(bytes, commitment, proof)).toBe(false);
  });

  it("verifies a proof only against its blob and its commitment", async () => {
    expect(await kzg.blobProof(blob, commitment)).toEqual(proof);
    expect(await kzg.verifyBlobProof(blob, commitment, proof)).toBe(true);
    expect(await kzg.verifyBlobProof(zeros, INFINITY, INFINITY)).toBe(true);
    expect(await kzg.verifyBlobProof(changed(blob, 1), commitment, proof)).toBe(false);
    expect(await kzg.verifyBlobProof(blob, INFINITY, proof)).toBe(false);
    expect(await kzg.verifyBlobProof(blob, commitment, INFINITY)).toBe(false);
    expect(await kzg.verifyBlobProof(blob, commitment, changed(proof, 47))).toBe(false);
    expect(await kzg.verifyBlobProof(blob, commitment, proof.subarray(1))).toBe(false);
  });

  it("proves the cells of an extended blob, whose first half is the blob", async () => {
    const { cells, proofs } = await kzg.cellsAndProofs(blob);
    expect(Buffer.concat(cells.slice(0, 64)).equals(blob)).toBe(true);
    const proved = cells.map((cell, index) => ({ commitment, index, cell, proof: proofs[index]! }));
    expect(await kzg.verifyCellProofs(proved)).toBe(true);
    expect(await kzg.verifyCellProofs(proved.slice(90, 92))).toBe(true);
    expect(await kzg.verifyCellProofs([{ ...proved[90]!, index: 91 }])).toBe(false);
    expect(await kzg.verifyCellProofs([{ ...proved[90]!, index: 128 }])).toBe(false);
    expect(await kzg.verifyCellProofs([{ ...proved[90]!, proof: proofs[91]! }])).toBe(false);
    expect(await kzg.verifyCellProofs([{ ...proved[90]!, cell: changed(cells[90]!, 9) }])).toBe(false);
  });

  it("says where it does not run", () => {
    const load = (): never => {
      throw new Error("Cannot find module '@crate-crypto/node-eth-kzg-linux-x64-musl'");
    };
    expect(() => loadKzgLibrary(load)).toThrow(/^blobs cannot be checked on this machine: .* no prebuilt part/);
  });
});

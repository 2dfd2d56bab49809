import { createKzg } from "@rnode/kzg";
import { describe, expect, it } from "vitest";
import { kzgBlobProver } from "./blob-prover.ts";
import { SidecarVersion } from "./sidecar-version.ts";

const BLOB = new Uint8Array(131_072).fill(7, 1, 32);

describe("kzgBlobProver", () => {
  it("proves whole blobs or their cells, as L1 verifies them", async () => {
    const kzg = createKzg();
    const prover = kzgBlobProver(kzg);
    const [whole, cells] = [await prover.sidecar([BLOB], 0), await prover.sidecar([BLOB], 1)];
    expect(whole.commitments).toEqual(cells.commitments);
    expect(await kzg.verifyBlobProof(BLOB, whole.commitments[0]!, whole.proofs[0]!)).toBe(true);
    const made = await kzg.cellsAndProofs(BLOB);
    const commitment = cells.commitments[0]!;
    const proved = [0, 127].map((index) => ({ commitment, index, cell: made.cells[index]!, proof: cells.proofs[index]! }));
    expect(cells.proofs).toHaveLength(128);
    expect(await kzg.verifyCellProofs(proved)).toBe(true);
    await kzg.close();
  });

  it("refuses bytes that are no blob", async () => {
    const kzg = createKzg();
    const bad = new Uint8Array(131_072).fill(0xff);
    await expect(kzgBlobProver(kzg).sidecar([BLOB, bad], 0)).rejects.toMatchObject({
      code: "tx-manager/not-a-blob",
      data: { index: 1 },
    });
    await kzg.close();
  });
});

describe("SidecarVersion", () => {
  const OSAKA_MAINNET = 1_764_798_551;
  it.each<[string, bigint, number | undefined, number, 0 | 1]>([
    ["of blobs on Mainnet before Osaka", 1n, undefined, OSAKA_MAINNET - 1, 0],
    ["of cells since", 1n, undefined, OSAKA_MAINNET, 1],
    ["as the option says", 1n, OSAKA_MAINNET + 10, OSAKA_MAINNET, 0],
    ["of cells from the option's time on", 900n, 5, 5, 1],
    ["of blobs first elsewhere", 900n, undefined, OSAKA_MAINNET, 0],
  ])("wants proofs %s", (_, l1ChainId, cellProofTimeSec, timeSec, version) => {
    expect(new SidecarVersion({ l1ChainId, cellProofTimeSec }).at(timeSec)).toBe(version);
  });

  it("learns from refusals where nothing is known, and nowhere else", () => {
    const unknown = new SidecarVersion({ l1ChainId: 900n, cellProofTimeSec: undefined });
    expect([unknown.refused(0), unknown.at(0), unknown.refused(1), unknown.at(0)]).toEqual([true, 1, true, 0]);
    expect(new SidecarVersion({ l1ChainId: 1n, cellProofTimeSec: undefined }).refused(0)).toBe(false);
  });
});

import type { PooledSidecar } from "@rnode/eth-api";
import { bytesToHex } from "@rnode/primitives";
import { CELLS_PER_EXTENDED_BLOB } from "@rnode/protocol";
import { describe, expect, it } from "vitest";
import { pooledBlobs } from "./pooled-blobs.ts";

const hash = (byte: number) => new Uint8Array(32).fill(byte);
const point = (byte: number) => new Uint8Array(48).fill(byte);
const blob = (byte: number) => new Uint8Array(8).fill(byte);

const sidecar = (version: 0 | 1, ...ids: number[]): PooledSidecar => ({
  versionedHashes: ids.map(hash),
  sidecar: {
    version,
    blobs: ids.map(blob),
    commitments: ids.map(point),
    proofs: ids.flatMap((id) => Array.from({ length: version === 0 ? 1 : CELLS_PER_EXTENDED_BLOB }, () => point(id))),
  },
});

describe("blobs of the pool", () => {
  it("come in the order asked, each as often as it is asked for, null where there is none", () => {
    const pool = [sidecar(0, 1, 2), sidecar(0, 3), sidecar(1, 4)];
    const asked = [3, 9, 2, 2, 4].map(hash);
    const shown = (id: number) => ({ blob: bytesToHex(blob(id)), proof: bytesToHex(point(id)) });
    expect(pooledBlobs(pool, 0, asked)).toEqual([shown(3), null, shown(2), shown(2), null]);
    expect(pooledBlobs(pool, 0, [])).toEqual([]);
  });

  it("have the cell proofs that are theirs", () => {
    const [first, second] = pooledBlobs([sidecar(1, 1, 2), sidecar(0, 3)], 1, [2, 3].map(hash));
    expect(first).toEqual({ blob: bytesToHex(blob(2)), proofs: Array.from({ length: 128 }, () => bytesToHex(point(2))) });
    expect(second).toBeNull();
  });
});

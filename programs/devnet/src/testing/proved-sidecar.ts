import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { isBlobProved } from "@rnode/kzg/testing";
import { type Hex, hexToBytes } from "viem";

/** As the beacon API gives it; the rest is of no interest here. */
export interface SidecarJson {
  readonly blob: Hex;
  readonly kzg_commitment: Hex;
  readonly kzg_proof: Hex;
}

let tauG2: Hex | undefined;

/** Whether a check that shares nothing with the product finds the blob proved. @param flipped a byte of the blob to be changed before */
export function isSidecarProved({ blob, kzg_commitment, kzg_proof }: SidecarJson, flipped?: number): boolean {
  tauG2 ??= readTauG2();
  const bytes = hexToBytes(blob);
  if (flipped !== undefined) bytes[flipped]! ^= 1;
  return isBlobProved(bytes, hexToBytes(kzg_commitment), hexToBytes(kzg_proof), tauG2);
}

/** The second point of G2 of the trusted setup that viem has. */
function readTauG2(): Hex {
  const folder = dirname(createRequire(import.meta.url).resolve("viem/package.json"));
  const setup = JSON.parse(readFileSync(join(folder, "trusted-setups/mainnet.json"), "utf8")) as { g2_monomial: readonly Hex[] };
  return setup.g2_monomial[1]!;
}

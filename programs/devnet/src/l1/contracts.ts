import { readFileSync } from "node:fs";
import { UserError } from "@rnode/program";
import type { Abi, Hex } from "viem";
import { CONTRACT_BUNDLE } from "../paths.ts";

export interface ContractArtifact {
  readonly abi: Abi;
  /** constructor arguments are appended to it */
  readonly creationCode: Hex;
  /** with zeros in place of immutables */
  readonly runtimeCode: Hex;
  readonly hasImmutables: boolean;
}

/** Code that users expect at a well-known address on every chain. */
export interface Preinstall {
  readonly address: Hex;
  readonly code: Hex;
}

export interface ContractBundle {
  readonly contracts: Readonly<Record<string, ContractArtifact>>;
  readonly preinstalls: Readonly<Record<string, Preinstall>>;
}

/** The output of scripts/build-contracts.mjs. */
export function loadContracts(): ContractBundle {
  try {
    return JSON.parse(readFileSync(CONTRACT_BUNDLE, "utf8")) as ContractBundle;
  } catch (cause) {
    throw new UserError("the devnet's contracts are not built: run `npm run build`", { cause });
  }
}

/** @throws if the bundle has no such contract, which is a bug in this package */
export function contract(bundle: ContractBundle, name: string): ContractArtifact {
  const artifact = bundle.contracts[name];
  if (!artifact) throw new Error(`no contract ${name} in build/contracts.json`);
  return artifact;
}

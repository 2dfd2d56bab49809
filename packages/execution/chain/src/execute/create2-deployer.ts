import { bytesToHex, keccak256 } from "@rnode/primitives";
import { type ChainConfig, firstBlockFacts, loadUpgradeArtifact, OP_FORKS, type UpgradeArtifact } from "@rnode/protocol";

/**
 * The code that Canyon's first block gives to CREATE2_DEPLOYER_ADDRESS (runtime code, not creation code). Chains that start with Canyon
 * have it in their genesis and need no file. Spec: docs/protocol/01-execution.md#before-and-after-the-transactions
 */
export const CREATE2_DEPLOYER: UpgradeArtifact = {
  file: "canyon-create2deployer.txt",
  hashFunction: "keccak256",
  hash: "0xb0550b5b431e30d38000efb7107aaa0ade03d48a7198a140edda9d27134468b2",
  length: 1584,
};

/** Whether a block after one of this time will need the code. */
export const needsCreate2Deployer = ({ optimism }: ChainConfig, timeSec: number): boolean =>
  OP_FORKS.some((fork) => (optimism?.forkTimes[fork] ?? 0) > timeSec && firstBlockFacts(fork).setsCreate2Deployer === true);

/**
 * Finds the code among those of a witness, or else calls `otherwise`.
 *
 * @param otherwise default: throws upgrade/missing-artifact
 */
export function create2DeployerCodeIn(codes: readonly Uint8Array[], otherwise?: () => Uint8Array): () => Uint8Array {
  return () =>
    codes.find((code) => bytesToHex(keccak256(code)) === CREATE2_DEPLOYER.hash) ??
    otherwise?.() ??
    loadUpgradeArtifact(CREATE2_DEPLOYER, undefined);
}

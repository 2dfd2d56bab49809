import { bytesToHex, keccak256 } from "@rnode/primitives";
import { loadUpgradeArtifact, type UpgradeArtifact } from "@rnode/protocol";

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

/**
 * Finds the code among those of a witness, or else asks for it.
 *
 * @param otherwise default: throws upgrade/missing-artifact
 */
export function create2DeployerCodeIn(codes: readonly Uint8Array[], otherwise?: () => Uint8Array): () => Uint8Array {
  return () =>
    codes.find((code) => bytesToHex(keccak256(code)) === CREATE2_DEPLOYER.hash) ??
    otherwise?.() ??
    loadUpgradeArtifact(CREATE2_DEPLOYER, undefined);
}

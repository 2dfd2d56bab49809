import { bigintToBytes, keccak256, uint64ToBytes } from "@rnode/primitives";

export interface OutputParts {
  /** 32 bytes each */
  readonly stateRoot: Uint8Array;
  /** storage root of L2ToL1MessagePasser */
  readonly messagePasserStorageRoot: Uint8Array;
  readonly blockHash: Uint8Array;
}

const OUTPUT_VERSION = new Uint8Array(32);
const SUPER_ROOT_VERSION = 1;

/**
 * The rollup's commitment on L1 to one L2 block, 32 bytes: the hash of version ‖ state root ‖ storage root ‖ block hash. Spec:
 * docs/protocol/02-derivation.md#output-roots
 */
export function outputRoot(parts: OutputParts): Uint8Array {
  return keccak256(OUTPUT_VERSION, parts.stateRoot, parts.messagePasserStorageRoot, parts.blockHash);
}

/** Commitment to several chains at one time (interop). Spec: docs/protocol/02-derivation.md#output-roots */
export function superRoot(timestampSec: number, outputs: readonly { chainId: bigint; outputRoot: Uint8Array }[]): Uint8Array {
  const ascending = [...outputs].sort((a, b) => (a.chainId < b.chainId ? -1 : a.chainId > b.chainId ? 1 : 0));
  const chains = ascending.flatMap(({ chainId, outputRoot: root }) => [bigintToBytes(chainId, 32), root]);
  return keccak256(Uint8Array.of(SUPER_ROOT_VERSION), uint64ToBytes(timestampSec), ...chains);
}

import { keccak256 } from "@rnode/primitives";

export interface OutputParts {
  /** 32 bytes each */
  readonly stateRoot: Uint8Array;
  /** storage root of L2ToL1MessagePasser */
  readonly messagePasserStorageRoot: Uint8Array;
  readonly blockHash: Uint8Array;
}

const OUTPUT_VERSION = new Uint8Array(32);

/**
 * The rollup's commitment on L1 to one L2 block, 32 bytes: the hash of version ‖ state root ‖ storage root ‖ block hash. Spec:
 * docs/protocol/02-derivation.md#output-roots
 */
export function outputRoot(parts: OutputParts): Uint8Array {
  return keccak256(OUTPUT_VERSION, parts.stateRoot, parts.messagePasserStorageRoot, parts.blockHash);
}

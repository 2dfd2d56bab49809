import { bigintToBytes, keccak256 } from "@rnode/primitives";

/** The sequencer's input of a block's signature. */
export interface BlockSigningRequest {
  /** 32 bytes: what kind of message this is */
  readonly domain: Uint8Array;
  /** of the L2 chain */
  readonly chainId: bigint;
  /** 32 bytes: keccak256 of what follows the signature in the message */
  readonly payloadHash: Uint8Array;
}

/** Domain of blocks sent to peers: all zeros. */
export const BLOCK_DOMAIN = new Uint8Array(32);

/**
 * The hash that is signed: keccak256( domain 32 ‖ chain id 32, big-endian ‖ payload hash 32 ).
 * Spec: docs/protocol/03-p2p.md#message-body
 */
export function blockSigningHash({ domain, chainId, payloadHash }: BlockSigningRequest): Uint8Array {
  return keccak256(domain, bigintToBytes(chainId, 32), payloadHash);
}

import type { Hex } from "@rnode/primitives";
import type { ExecutionPayload, L1BlockRef, L2BlockRef, Receipt, SystemConfig, Transaction } from "@rnode/protocol";

/** An L1 block reference with the header fields that become part of L2 blocks. */
export interface L1BlockHeader extends L1BlockRef {
  readonly baseFeePerGas: bigint;
  /** 32 bytes: prevRandao */
  readonly mixHash: Uint8Array;
  /** from Cancun */
  readonly parentBeaconBlockRoot?: Uint8Array | undefined;
  /** from Cancun */
  readonly excessBlobGas?: bigint | undefined;
}

/**
 * L1 as derivation sees it. `undefined` means that L1 does not have it (not mined yet, or reorganised away); anything else that
 * goes wrong rejects, and the pipeline may be asked again. What is answered is verified: derivation trusts it.
 */
export interface L1Provider {
  /** The canonical block; hides blocks nearer to the head than the verifier's confirmation depth. */
  blockByNumber(number: number): Promise<L1BlockHeader | undefined>;
  blockByHash(hash: Hex): Promise<L1BlockHeader | undefined>;
  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined>;
  transactions(blockHash: Hex): Promise<readonly Transaction[] | undefined>;
}

/** A blob of an L1 block. */
export interface BlobId {
  /** position among all blobs of the block */
  readonly index: number;
  readonly versionedHash: Uint8Array;
}

/** Where blobs come from. They are verified against their versioned hashes. */
export interface BlobProvider {
  /**
   * The blobs (131,072 bytes each) in the order of `ids`.
   *
   * @returns undefined when the source says they are not there: the pipeline resets
   */
  blobs(block: L1BlockRef, ids: readonly BlobId[]): Promise<readonly Uint8Array[] | undefined>;
}

/** The L2 chain as the engine knows it. `undefined`: no such block. */
export interface L2Provider {
  blockRefByNumber(number: number): Promise<L2BlockRef | undefined>;
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>;
  payloadByNumber(number: number): Promise<ExecutionPayload | undefined>;
  systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined>;
}

export interface Decompressed {
  readonly bytes: Uint8Array;
  /** false: the input broke, or the limit cut it. Input that merely ends (flushed, never closed) is complete. */
  readonly complete: boolean;
}

export interface Decompressor {
  /**
   * Everything that comes out of `data` before it ends or breaks, at most `maxBytes`. Bytes after the end of the compressed
   * stream are ignored, checksums are not checked. Never throws on bad data.
   *
   * @param data a zlib stream (RFC 1950), or a brotli stream (RFC 7932) without the channel's version byte
   */
  decompress(kind: "zlib" | "brotli", data: Uint8Array, maxBytes: number): Decompressed;
}

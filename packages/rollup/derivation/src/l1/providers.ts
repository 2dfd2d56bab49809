import type { Hex } from "@rnode/primitives";
import type { DaCommitment, ExecutionPayload, L1BlockRef, L1Transaction, L2BlockRef, Receipt, SystemConfig } from "@rnode/protocol";

/** An L1 block reference with the header fields that enter L2 blocks. */
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
 * Derivation's view of L1. `undefined` means that L1 does not have the data (not mined yet, or removed by a reorg). Other
 * failures reject, and the pipeline may retry. Providers must verify their answers.
 */
export interface L1Provider {
  /** The canonical block; blocks closer to the head than the verifier's confirmation depth are hidden. */
  blockByNumber(number: number): Promise<L1BlockHeader | undefined>;
  blockByHash(hash: Hex): Promise<L1BlockHeader | undefined>;
  receipts(blockHash: Hex): Promise<readonly Receipt[] | undefined>;
  transactions(blockHash: Hex): Promise<readonly L1Transaction[] | undefined>;
}

/** A blob of an L1 block. */
export interface BlobId {
  /** position among all blobs of the block; too low if a transaction of an unknown type before it has some */
  readonly index: number;
  readonly versionedHash: Uint8Array;
}

/** The source of blobs, which it verifies against their versioned hashes. */
export interface BlobProvider {
  /**
   * The blobs (131,072 bytes each) in the order of `ids`.
   *
   * @returns `undefined` if the source reports that they are not available: the pipeline then resets
   */
  blobs(block: L1BlockRef, ids: readonly BlobId[]): Promise<readonly Uint8Array[] | undefined>;
}

/** The DA server: data outside of L1, by commitment. */
export interface DaInputs {
  /** @returns undefined if the server does not have it; any other failure rejects, and is tried again */
  get(commitment: DaCommitment): Promise<Uint8Array | undefined>;
}

/** The engine's L2 chain. `undefined`: no such block. */
export interface L2Provider {
  blockRefByNumber(number: number): Promise<L2BlockRef | undefined>;
  blockRefByHash(hash: Hex): Promise<L2BlockRef | undefined>;
  payloadByNumber(number: number): Promise<ExecutionPayload | undefined>;
  systemConfigByHash(hash: Hex): Promise<SystemConfig | undefined>;
}

export interface Decompressed {
  readonly bytes: Uint8Array;
  /** false: the input was corrupt, or the limit was reached. Input that merely ends (flushed, never closed) is complete. */
  readonly complete: boolean;
}

export interface Decompressor {
  /**
   * Everything that `data` decompresses to before it ends or becomes corrupt, at most `maxBytes`. Bytes after the end of the
   * compressed stream are ignored, and checksums are not checked. Never throws on bad data.
   *
   * @param data a zlib stream (RFC 1950), or a brotli stream (RFC 7932) without the channel's version byte
   */
  decompress(kind: "zlib" | "brotli", data: Uint8Array, maxBytes: number): Decompressed;
}

import type { StateReader } from "@rnode/evm";
import type { Hex } from "@rnode/primitives";
import type { Block, BlockId, Header, PayloadAttributes, PayloadStatusV1, Receipt } from "@rnode/protocol";

/** A block that can be asked for by tag, number or hash. */
export type BlockSelector =
  | { readonly kind: "tag"; readonly tag: "latest" | "pending" | "safe" | "finalized" | "earliest" }
  | { readonly kind: "number"; readonly number: number }
  | { readonly kind: "hash"; readonly hash: Uint8Array; readonly requireCanonical: boolean };

/** A block with all that JSON-RPC shows of it. */
export interface StoredBlock {
  readonly hash: Uint8Array;
  readonly block: Block;
  readonly receipts: readonly Receipt[];
  readonly senders: readonly Uint8Array[];
}

export interface BuiltPayload {
  readonly block: Block;
  readonly hash: Uint8Array;
  /** sum of tips in wei */
  readonly value: bigint;
}

export interface HeadChange {
  readonly head: StoredBlock;
  /** blocks that left the canonical chain, newest first; empty when the chain only grew */
  readonly removed: readonly StoredBlock[];
  /** blocks that joined, oldest first */
  readonly added: readonly StoredBlock[];
}

export interface ForkchoiceState {
  readonly headBlockHash: Uint8Array;
  /** zero hash: not set */
  readonly safeBlockHash: Uint8Array;
  readonly finalizedBlockHash: Uint8Array;
}

export type ForkchoiceResult =
  | { readonly kind: "updated"; readonly status: PayloadStatusV1; readonly payloadId: Hex | undefined }
  /** −38002 */
  | { readonly kind: "invalid-state"; readonly reason: string }
  /** −38003 */
  | { readonly kind: "invalid-attributes"; readonly reason: string };

/** The canonical chain of one node: the only writer of the store. All methods are synchronous unless they say otherwise. */
export interface Chain {
  readonly genesis: StoredBlock;
  head(): BlockId;
  resolve(selector: BlockSelector): StoredBlock | undefined;
  headerOf(selector: BlockSelector): { readonly header: Header; readonly hash: Uint8Array } | undefined;
  /** State after the block; undefined when not retained. */
  stateAt(block: BlockId): StateReader | undefined;
  /** Executes and checks a block; VALID blocks are kept in memory until fork choice makes them canonical. */
  newPayload(block: Block, hash: Uint8Array): PayloadStatusV1;
  /** Moves the labels, reorganising or rewinding where needed, and starts a build when attributes are given. */
  forkchoiceUpdated(state: ForkchoiceState, attributes: PayloadAttributes | undefined, version: 1 | 2 | 3): ForkchoiceResult;
  /** The best version so far; ends the job. */
  getPayload(id: Hex): BuiltPayload | undefined;
  onHeadChange(listener: (change: HeadChange) => void): () => void;
  close(): Promise<void>;
}

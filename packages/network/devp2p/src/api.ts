import type {
  AccountRange,
  AccountRangeRequest,
  ByteCodesRequest,
  StorageRanges,
  StorageRangesRequest,
  TrieNodesRequest,
} from "./snap/messages.ts";

export interface HeaderRequest {
  /** block number, or hash (32 bytes) */
  readonly start: number | Uint8Array;
  /** how many headers at most; a peer may give fewer */
  readonly limit: number;
  /** how many blocks to leave out between two; default 0 */
  readonly skip?: number;
  /** towards the genesis; default: towards the head */
  readonly reverse?: boolean;
}

/** A peer's fault. `lied`: it is disconnected and banned; `slow` and `useless`: it is disconnected after repetitions. */
export type PeerFault = "useless" | "slow" | "lied";

/**
 * A peer that serves recent states (snap/1). Nothing but the form of answers is checked. An empty answer means that it does not have the state.
 *
 * All methods throw what `BlockPeer.headers` throws; devp2p/bad-message: the answer is none.
 */
export interface StatePeer {
  accounts(request: AccountRangeRequest, signal: AbortSignal): Promise<AccountRange>;
  slots(request: StorageRangesRequest, signal: AbortSignal): Promise<StorageRanges>;
  /** Codes in the order of the request, without those that it does not have. */
  codes(request: ByteCodesRequest, signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** Trie nodes in the order of the request, without those that it does not have. */
  nodes(request: TrieNodesRequest, signal: AbortSignal): Promise<readonly Uint8Array[]>;
}

/** A connected peer. Answers are RLP as received: sizes are bounded, nothing else about them is checked. */
export interface BlockPeer {
  /** 128 hex digits of the public key */
  readonly id: string;
  /** last announced by the peer; eth/68 has no number */
  readonly head: { readonly number: number | undefined; readonly hash: Uint8Array };
  /**
   * The RLP of each header.
   *
   * @throws {CodedError} devp2p/peer-gone, devp2p/request-timeout, devp2p/request-aborted, devp2p/bad-answer, devp2p/busy
   */
  headers(request: HeaderRequest, signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /**
   * The RLP of each body (`[transactions, uncles, withdrawals?]`), in the requested order, possibly fewer. @throws as `headers`
   */
  bodies(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** The RLP of each block's list of receipts, in the form that the peer's version of eth has. @throws as `headers` */
  receipts(hashes: readonly Uint8Array[], signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** `undefined`: it does not speak snap/1 */
  readonly state: StatePeer | undefined;
  report(fault: PeerFault, detail: string): void;
}

/** The connected peers that are on our chain. */
export interface BlockPeers {
  list(): readonly BlockPeer[];
  /** @param listener called when a peer connects, disconnects or announces a head. @returns removes it */
  onChange(listener: () => void): () => void;
}

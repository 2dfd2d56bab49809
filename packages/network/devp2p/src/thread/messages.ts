import type { BlockPeer, HeaderRequest, PeerFault } from "../api.ts";
import type { Announcement, DevP2PConfig, DevP2PIdentity, PeerAdmin, ReceivedTransaction } from "../network.ts";
import type { StateRequest } from "../snap/state-requests.ts";

/** Indices in the shared counters of data in flight to the process, which subtracts the processed part. */
export const TRANSACTIONS = 0;
export const TRANSACTION_BYTES = 1;
export const COUNTERS = 2;

/** Beyond, transactions of peers are dropped while the process does not get to take them. */
export const MAX_TRANSACTIONS = 4_096;
export const MAX_TRANSACTION_BYTES = 16 * 1024 * 1024;

/** A question to a peer. */
export type PeerRequest =
  | { readonly what: "headers"; readonly request: HeaderRequest }
  | { readonly what: "bodies" | "receipts"; readonly hashes: readonly Uint8Array[] }
  /** answered with the message alone */
  | { readonly what: "state"; readonly request: StateRequest };

/** A peer in the process. */
export type PeerView = Pick<BlockPeer, "id" | "head"> & { readonly speaksSnap: boolean };

type ToThread =
  | { readonly kind: "request"; readonly id: number; readonly peer: string; readonly request: PeerRequest }
  /** the request is aborted */
  | { readonly kind: "abort"; readonly id: number }
  | { readonly kind: "report"; readonly peer: string; readonly fault: PeerFault; readonly detail: string }
  | { readonly kind: "announce"; readonly transactions: readonly Announcement[] }
  | { readonly kind: "pooled"; readonly id: number; readonly transactions: readonly Uint8Array[] }
  | { readonly kind: "call"; readonly id: number; readonly method: keyof PeerAdmin; readonly args: readonly string[] };

type FromThread =
  | { readonly kind: "peers"; readonly peers: readonly PeerView[] }
  | { readonly kind: "transactions"; readonly transactions: readonly ReceivedTransaction[]; readonly bytes: number }
  | { readonly kind: "ask-pooled"; readonly id: number; readonly hashes: readonly Uint8Array[] };

export interface DevP2PTypes {
  readonly config: DevP2PConfig;
  readonly identity: DevP2PIdentity;
  readonly to: ToThread;
  readonly from: FromThread;
}

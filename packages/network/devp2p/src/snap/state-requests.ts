import type { StatePeer } from "../api.ts";
import { decodeMessage } from "../errors.ts";
import {
  type AccountRangeRequest,
  type ByteCodesRequest,
  decodeAccountRange,
  decodeBlobs,
  decodeStorageRanges,
  encodeAccountRangeRequest,
  encodeByteCodesRequest,
  encodeStorageRangesRequest,
  encodeTrieNodesRequest,
  SNAP,
  type StorageRangesRequest,
  type TrieNodesRequest,
} from "./messages.ts";

/** A question about a state: plain data, for another thread. */
export type StateRequest =
  | { readonly kind: "accounts"; readonly request: AccountRangeRequest }
  | { readonly kind: "slots"; readonly request: StorageRangesRequest }
  | { readonly kind: "codes"; readonly request: ByteCodesRequest }
  | { readonly kind: "nodes"; readonly request: TrieNodesRequest };

/** The code of a request, from the first one of snap/1 on. */
export const STATE_CODES = {
  accounts: SNAP.getAccountRange,
  slots: SNAP.getStorageRanges,
  codes: SNAP.getByteCodes,
  nodes: SNAP.getTrieNodes,
} as const satisfies Record<StateRequest["kind"], number>;

export function encodeStateRequest(id: number, { kind, request }: StateRequest): Uint8Array {
  switch (kind) {
    case "accounts":
      return encodeAccountRangeRequest(id, request);
    case "slots":
      return encodeStorageRangesRequest(id, request);
    case "codes":
      return encodeByteCodesRequest(id, request);
    case "nodes":
      return encodeTrieNodesRequest(id, request);
  }
}

/** @param ask sends a request. @returns the message that answers it */
export function statePeerOf(ask: (request: StateRequest, signal: AbortSignal) => Promise<Uint8Array>): StatePeer {
  const decoded = async <T>(request: StateRequest, signal: AbortSignal, decode: (data: Uint8Array) => T): Promise<T> => {
    const data = await ask(request, signal);
    return decodeMessage(() => decode(data));
  };
  return {
    accounts: (request, signal) => decoded({ kind: "accounts", request }, signal, decodeAccountRange),
    slots: (request, signal) => decoded({ kind: "slots", request }, signal, decodeStorageRanges),
    codes: (request, signal) => decoded({ kind: "codes", request }, signal, decodeBlobs),
    nodes: (request, signal) => decoded({ kind: "nodes", request }, signal, decodeBlobs),
  };
}

import type { P2PConfig, P2PIdentity, UnsafeGap } from "../network.ts";
import type { PeerApiCall } from "../peers/peer-api.ts";
import type { EncodedBlock, ReceivedBlock } from "./encoded-block.ts";

/** Indices in the shared counters of data in flight to the process, which subtracts the processed part. */
export const PAYLOAD_BYTES = 0;
export const PAYLOADS = 1;
export const COUNTERS = 2;

/** Beyond, blocks of the network are dropped while the process does not get to take them. */
export const MAX_PAYLOAD_BYTES = 64 * 1024 * 1024;
export const MAX_PAYLOADS = 256;

type ToThread =
  | { readonly kind: "signer"; readonly address: Uint8Array }
  | { readonly kind: "gap"; readonly gap: UnsafeGap }
  | { readonly kind: "call"; readonly id: number; readonly call: PeerApiCall }
  /** the answer to `ask`; without a block and an error: no such block */
  | { readonly kind: "block"; readonly id: number; readonly block?: EncodedBlock | undefined; readonly error?: string | undefined };

/** Goes before everything else. */
export interface Publish {
  readonly id: number;
  readonly block: EncodedBlock;
  readonly signature: Uint8Array;
}

export type FromThread =
  | { readonly kind: "payload"; readonly block: ReceivedBlock; readonly from: string }
  | { readonly kind: "ask"; readonly id: number; readonly number: number };

export interface P2PTypes {
  readonly config: P2PConfig;
  readonly identity: P2PIdentity;
  readonly to: ToThread;
  readonly from: FromThread;
}

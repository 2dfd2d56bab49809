import { encodeBlob } from "@rnode/protocol";
import type { TxCandidate } from "@rnode/tx-manager";
import type { TxData } from "../channels/channel-manager.ts";

/** The transaction that carries the data. @param inbox 20 bytes */
export function candidateOf({ carrier, data }: TxData, inbox: Uint8Array): TxCandidate {
  return {
    to: inbox,
    carries: carrier === "blobs" ? { kind: "blobs", blobs: data.map(encodeBlob) } : { kind: "calldata", data: data[0]! },
  };
}

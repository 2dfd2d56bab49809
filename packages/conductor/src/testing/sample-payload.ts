import { keccak256 } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope } from "@rnode/protocol";

const encoder = new TextEncoder();
export const hashOf = (text: string): Uint8Array => keccak256(encoder.encode(text));

/** A payload of no real chain, with a hash of its own. @param name of the branch that it is on */
export function samplePayload(
  number: number,
  parentHash: Uint8Array,
  name = "",
  transactions: readonly Uint8Array[] = [],
  timestamp = 1_800_000_000 + number,
): ExecutionPayloadEnvelope {
  const zero = new Uint8Array(32);
  return {
    executionPayload: {
      parentHash,
      feeRecipient: new Uint8Array(20),
      stateRoot: zero,
      receiptsRoot: zero,
      logsBloom: new Uint8Array(256),
      prevRandao: zero,
      blockNumber: number,
      gasLimit: 30_000_000n,
      gasUsed: 0n,
      timestamp,
      extraData: new Uint8Array(),
      baseFeePerGas: 7n,
      blockHash: hashOf(`${number} ${Buffer.from(parentHash).toString("hex")} ${name}`),
      transactions,
      withdrawals: [],
      blobGasUsed: 0n,
      excessBlobGas: 0n,
    },
    parentBeaconBlockRoot: zero,
  };
}

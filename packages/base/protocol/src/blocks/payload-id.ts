import { bytesToHex, concatBytes, encodeRlp, type Hex, keccak256, sha256, uint64ToBytes } from "@rnode/primitives";
import { exactTimestamp } from "../params/exact-fields.ts";
import { withdrawalToRlp } from "./block-codec.ts";
import type { PayloadAttributes } from "./payload.ts";

/**
 * The id of a payload under construction: 8 bytes, the first of which is `version` (of the forkchoiceUpdated method). Spec:
 * docs/protocol/01-execution.md#payload-attributes-and-payload-id
 */
export function payloadId(parentHash: Uint8Array, attributes: PayloadAttributes, version: number): Hex {
  const { transactions = [] } = attributes;
  const parts = [parentHash, uint64ToBytes(exactTimestamp(attributes)), attributes.prevRandao, attributes.suggestedFeeRecipient];
  if (attributes.withdrawals !== undefined) parts.push(encodeRlp(attributes.withdrawals.map(withdrawalToRlp)));
  if (attributes.parentBeaconBlockRoot !== undefined) parts.push(attributes.parentBeaconBlockRoot);
  if (attributes.noTxPool || transactions.length > 0) {
    parts.push(Uint8Array.of(attributes.noTxPool ? 1 : 0), uint64ToBytes(transactions.length));
    for (const tx of transactions) parts.push(keccak256(tx));
  }
  if (attributes.gasLimit !== undefined) parts.push(uint64ToBytes(attributes.gasLimit));
  if (attributes.eip1559Params !== undefined) parts.push(attributes.eip1559Params);
  if (attributes.minBaseFee !== undefined) parts.push(uint64ToBytes(attributes.minBaseFee));
  const id = sha256(concatBytes(...parts)).slice(0, 8);
  id[0] = version;
  return bytesToHex(id);
}

import type { BlockExecution } from "@rnode/evm";
import { bytesToBigint, concatBytes, equalBytes, hexToBytes, sha256 } from "@rnode/primitives";
import { CONSOLIDATION_REQUESTS_ADDRESS, type Receipt, WITHDRAWAL_REQUESTS_ADDRESS } from "@rnode/protocol";
import type { BlockFault } from "../api.ts";
import { blockFault } from "../faults.ts";

/** System contracts that return requests after the last transaction: EIP-7002 (type 1) and EIP-7251 (type 2). */
const REQUEST_CONTRACTS = [
  { type: 0x01, address: WITHDRAWAL_REQUESTS_ADDRESS },
  { type: 0x02, address: CONSOLIDATION_REQUESTS_ADDRESS },
] as const;

/** DepositEvent(bytes,bytes,bytes,bytes,bytes) */
const DEPOSIT_TOPIC = hexToBytes("0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");
const DEPOSIT_LOG_BYTES = 576;
/** pubkey, withdrawal credentials, amount, signature, index: the ABI offset word and the length of each. Spec: EIP-6110 */
const DEPOSIT_FIELDS = [
  { offset: 160, length: 48 },
  { offset: 256, length: 32 },
  { offset: 320, length: 8 },
  { offset: 384, length: 96 },
  { offset: 512, length: 8 },
] as const;

export type RequestsResult =
  | { readonly kind: "requests"; readonly requests: readonly Uint8Array[] }
  | { readonly kind: "invalid"; readonly fault: BlockFault };

/** EIP-7685 requests of an Ethereum block from Prague on, ordered by type; empty ones are left out. */
export function collectRequests(
  execution: BlockExecution,
  receipts: readonly Receipt[],
  depositContractAddress: Uint8Array | undefined,
): RequestsResult {
  const requests: Uint8Array[] = [];
  if (depositContractAddress !== undefined) {
    const deposits: Uint8Array[] = [];
    for (const receipt of receipts) {
      for (const log of receipt.logs) {
        if (!equalBytes(log.address, depositContractAddress)) continue;
        if (log.topics[0] === undefined || !equalBytes(log.topics[0], DEPOSIT_TOPIC)) continue;
        const deposit = depositRequest(log.data);
        if (deposit === undefined) return { kind: "invalid", fault: blockFault("request-invalid", { type: 0 }) };
        deposits.push(deposit);
      }
    }
    if (deposits.length > 0) requests.push(concatBytes(Uint8Array.of(0x00), ...deposits));
  }
  for (const { type, address } of REQUEST_CONTRACTS) {
    const call = execution.systemCall(address, new Uint8Array(0));
    // A missing contract or a failed call makes the block invalid. Spec: EIP-7002, EIP-7251 § Block processing
    if (call === undefined || call.status === 0) return { kind: "invalid", fault: blockFault("request-invalid", { type }) };
    if (call.output.length > 0) requests.push(concatBytes(Uint8Array.of(type), call.output));
  }
  return { kind: "requests", requests };
}

/** sha256 over the sha256 of each request. Spec: EIP-7685 */
export function requestsHash(requests: readonly Uint8Array[]): Uint8Array {
  return sha256(concatBytes(...requests.map(sha256)));
}

/** The 192 bytes of one deposit; undefined if the log does not have the deposit contract's layout. */
function depositRequest(data: Uint8Array): Uint8Array | undefined {
  if (data.length !== DEPOSIT_LOG_BYTES) return undefined;
  const word = (at: number): bigint => bytesToBigint(data.subarray(at, at + 32));
  const parts: Uint8Array[] = [];
  for (const [index, { offset, length }] of DEPOSIT_FIELDS.entries()) {
    if (word(index * 32) !== BigInt(offset) || word(offset) !== BigInt(length)) return undefined;
    parts.push(data.subarray(offset + 32, offset + 32 + length));
  }
  return concatBytes(...parts);
}

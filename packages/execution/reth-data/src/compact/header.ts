import { bytesToBigint } from "@rnode/primitives";
import type { Header } from "@rnode/protocol";
import { Malformed } from "../errors.ts";
import { CompactReader } from "./compact-reader.ts";

const FLAG_BYTES = 4;

/**
 * Decodes a header of Reth's Compact encoding. Flags in the order of fields: withdrawals root 1, difficulty 6, number, gas limit, gas used,
 * timestamp, nonce 4 each, base fee, blob gas used, excess blob gas, beacon root, extension 1 each. The extension has flags for requests
 * hash, hash of the block access list, slot number.
 *
 * @throws {Malformed}
 */
export function decodeCompactHeader(bytes: Uint8Array): Header {
  const fields = new CompactReader(bytes, FLAG_BYTES);
  const hasWithdrawals = fields.flag(1);
  const difficultyBytes = fields.flag(6);
  const [numberBytes, gasLimitBytes, gasUsedBytes, timestampBytes, nonceBytes] = [0, 0, 0, 0, 0].map(() => fields.flag(4));
  const [hasBaseFee, hasBlobGas, hasExcessBlobGas, hasBeaconRoot, hasExtension] = [0, 0, 0, 0, 0].map(() => fields.flag(1));
  const uint64 = (): bigint => bytesToBigint(fields.sized());
  const head = {
    parentHash: fields.fixed(32),
    ommersHash: fields.fixed(32),
    beneficiary: fields.fixed(20),
    stateRoot: fields.fixed(32),
    transactionsRoot: fields.fixed(32),
    receiptsRoot: fields.fixed(32),
    ...(hasWithdrawals && { withdrawalsRoot: fields.fixed(32) }),
    logsBloom: fields.fixed(256),
    difficulty: fields.number(difficultyBytes),
    number: exact(fields.number(numberBytes!)),
    gasLimit: fields.number(gasLimitBytes!),
    gasUsed: fields.number(gasUsedBytes!),
    timestamp: exact(fields.number(timestampBytes!)),
    mixHash: fields.fixed(32),
    nonce: nonceOf(fields.fixed(nonceBytes!)),
    ...(hasBaseFee && { baseFeePerGas: uint64() }),
    ...(hasBlobGas && { blobGasUsed: uint64() }),
    ...(hasExcessBlobGas && { excessBlobGas: uint64() }),
    ...(hasBeaconRoot && { parentBeaconBlockRoot: fields.fixed(32) }),
    ...(hasExtension && decodeExtension(fields.sized())),
  };
  return { ...head, extraData: fields.rest() };
}

function decodeExtension(bytes: Uint8Array): Partial<Header> {
  const fields = new CompactReader(bytes, 1);
  const [hasRequests, hasAccessList, hasSlot] = [0, 0, 0].map(() => fields.flag(1));
  return {
    ...(hasRequests && { requestsHash: fields.fixed(32) }),
    ...(hasAccessList && { blockAccessListHash: fields.fixed(32) }),
    ...(hasSlot && { slotNumber: bytesToBigint(fields.sized()) }),
  };
}

function nonceOf(trimmed: Uint8Array): Uint8Array {
  if (trimmed.length > 8) throw new Malformed(`a nonce of ${trimmed.length} bytes`);
  const nonce = new Uint8Array(8);
  nonce.set(trimmed, 8 - trimmed.length);
  return nonce;
}

function exact(value: bigint): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Malformed(`a block number or timestamp of ${value}`);
  return Number(value);
}

import { bytesToHex, toQuantity } from "@rnode/primitives";
import type { Header } from "../index.ts";

/** A header as JSON-RPC gives it, without the hash: written apart from what programs answer. */
export function headerJson(header: Header): Record<string, unknown> {
  const fields = {
    parentHash: header.parentHash,
    sha3Uncles: header.ommersHash,
    miner: header.beneficiary,
    stateRoot: header.stateRoot,
    transactionsRoot: header.transactionsRoot,
    receiptsRoot: header.receiptsRoot,
    logsBloom: header.logsBloom,
    difficulty: header.difficulty,
    number: header.number,
    gasLimit: header.gasLimit,
    gasUsed: header.gasUsed,
    timestamp: header.timestamp,
    extraData: header.extraData,
    mixHash: header.mixHash,
    nonce: header.nonce,
    baseFeePerGas: header.baseFeePerGas,
    withdrawalsRoot: header.withdrawalsRoot,
    blobGasUsed: header.blobGasUsed,
    excessBlobGas: header.excessBlobGas,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
    requestsHash: header.requestsHash,
  };
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value instanceof Uint8Array ? bytesToHex(value) : toQuantity(value)]],
    ),
  );
}

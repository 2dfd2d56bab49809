import { bytesToHex, equalBytes, type Hex, hexToBytes } from "@rnode/primitives";
import { jsonHash, jsonObject, type L2BlockRef, outputRoot, requiredField } from "@rnode/protocol";
import { RollupClientError } from "./rollup-client-error.ts";
import { l2Ref, type SyncStatus, syncStatusFromJson } from "./sync-status.ts";

/** An output root with its preimage, and the sync status of the node at that time. */
export interface Output {
  readonly root: Hex;
  readonly block: L2BlockRef;
  readonly status: SyncStatus;
}

const VERSION_0 = new Uint8Array(32);

/**
 * Parses the answer to `optimism_outputAtBlock`. Checks that the root follows from its parts and that the block is the requested
 * one. Spec: docs/protocol/02-derivation.md#output-roots
 *
 * @throws {RollupClientError} rollup-client/bad-output; {CodedError} json/invalid
 */
export function outputFromJson(value: unknown, number: number): Output {
  const path = "output";
  const object = jsonObject(value, path);
  const hash = (name: string): Uint8Array => requiredField(object, path, name, jsonHash);
  const block = requiredField(object, path, "blockRef", l2Ref);
  if (!equalBytes(hash("version"), VERSION_0)) {
    throw new RollupClientError("rollup-client/bad-output", { number, reason: `version ${bytesToHex(hash("version"))}` });
  }
  if (block.number !== number) {
    throw new RollupClientError("rollup-client/bad-output", { number, reason: `it is that of block ${block.number}` });
  }
  const root = outputRoot({
    stateRoot: hash("stateRoot"),
    messagePasserStorageRoot: hash("withdrawalStorageRoot"),
    blockHash: hexToBytes(block.hash),
  });
  if (!equalBytes(root, hash("outputRoot"))) {
    const reason = `its parts hash to ${bytesToHex(root)}, not to ${bytesToHex(hash("outputRoot"))}`;
    throw new RollupClientError("rollup-client/bad-output", { number, reason });
  }
  return { root: bytesToHex(root), block, status: requiredField(object, path, "syncStatus", syncStatusFromJson) };
}

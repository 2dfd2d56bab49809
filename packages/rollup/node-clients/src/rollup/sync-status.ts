import { bytesToHex, type Hex } from "@rnode/primitives";
import {
  type BlockId,
  type JsonParser,
  jsonHash,
  jsonInteger,
  jsonObject,
  type L1BlockRef,
  type L2BlockRef,
  optionalField,
  requiredField,
} from "@rnode/protocol";

/** The fields of `rnode_syncStatus` that other programs read. A block that the node does not know yet has number 0 and a zero hash. */
export interface SyncStatus {
  readonly headL1: L1BlockRef;
  /** everything on L1 before this block has been derived */
  readonly currentL1: L1BlockRef;
  readonly unsafeL2: L2BlockRef;
  readonly safeL2: L2BlockRef;
  /** derived from L1; the safe block as well, unless messages of other chains have to be checked. `undefined` if the node has no such field */
  readonly localSafeL2?: L2BlockRef | undefined;
  readonly finalizedL2: L2BlockRef;
}

const hashHex: JsonParser<Hex> = (value, key) => bytesToHex(jsonHash(value, key));

const l1Ref: JsonParser<L1BlockRef> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    hash: requiredField(object, path, "hash", hashHex),
    number: requiredField(object, path, "number", jsonInteger),
    parentHash: requiredField(object, path, "parentHash", hashHex),
    timestamp: requiredField(object, path, "timestamp", jsonInteger),
  };
};

export const blockId: JsonParser<BlockId> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    hash: requiredField(object, path, "hash", hashHex),
    number: requiredField(object, path, "number", jsonInteger),
  };
};

export const l2Ref: JsonParser<L2BlockRef> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    ...l1Ref(value, path),
    l1Origin: requiredField(object, path, "l1origin", blockId),
    sequenceNumber: requiredField(object, path, "sequenceNumber", jsonInteger),
  };
};

/** @throws {CodedError} json/invalid */
export function syncStatusFromJson(value: unknown): SyncStatus {
  const path = "syncStatus";
  const object = jsonObject(value, path);
  return {
    headL1: requiredField(object, path, "head_l1", l1Ref),
    currentL1: requiredField(object, path, "current_l1", l1Ref),
    unsafeL2: requiredField(object, path, "unsafe_l2", l2Ref),
    safeL2: requiredField(object, path, "safe_l2", l2Ref),
    localSafeL2: optionalField(object, path, "local_safe_l2", l2Ref),
    finalizedL2: requiredField(object, path, "finalized_l2", l2Ref),
  };
}

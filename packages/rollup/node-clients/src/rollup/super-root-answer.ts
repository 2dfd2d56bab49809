import { bytesToHex, equalBytes, type Hex } from "@rnode/primitives";
import {
  type BlockId,
  createSuperRoot,
  fieldKey,
  type JsonParser,
  jsonError,
  jsonHash,
  jsonInteger,
  jsonObject,
  jsonQuantityNumber,
  optionalField,
  requiredField,
  type SuperRoot,
  SuperRootError,
  superRootHash,
} from "@rnode/protocol";
import { blockId } from "./sync-status.ts";

/** The answer to `superroot_atTimestamp`. */
export interface SuperRootAnswer {
  /** everything on L1 before this block has been derived */
  readonly currentL1: BlockId;
  /** up to this L2 time, all chains of the set are safe, or finalized */
  readonly safeTimeSec: number;
  readonly finalizedTimeSec: number;
  /** `undefined` if a chain of the set has no block of that time yet */
  readonly data: { readonly superRoot: SuperRoot; readonly root: Hex } | undefined;
}

const MAX_CHAINS = 1024;
const MAX_CHAIN_ID = 1n << 256n;

/** Decimal, or hex with 0x: op-service takes both. */
const chainId: JsonParser<bigint> = (value, key) => {
  const isId = typeof value === "string" && /^(?:[0-9]{1,78}|0x[0-9a-fA-F]{1,64})$/.test(value);
  if (!isId || BigInt(value) >= MAX_CHAIN_ID) throw jsonError(key, value, "a chain id as text");
  return BigInt(value);
};

function list<T>(item: JsonParser<T>): JsonParser<readonly T[]> {
  return (value, key) => {
    if (!Array.isArray(value) || value.length > MAX_CHAINS) throw jsonError(key, value, `a list of at most ${MAX_CHAINS} entries`);
    return value.map((entry, index) => item(entry, `${key}[${index}]`));
  };
}

const chainOutput: JsonParser<SuperRoot["chains"][number]> = (value, path) => {
  const object = jsonObject(value, path);
  return {
    chainId: requiredField(object, path, "ChainID", chainId),
    outputRoot: requiredField(object, path, "Output", jsonHash),
  };
};

/**
 * Parses the answer to `superroot_atTimestamp`. Checks that the root follows from its parts, and that these are the outputs of the
 * requested time and of exactly the chains that the source names. Spec: docs/protocol/04-rpc.md#superroot_attimestamp
 *
 * @throws {SuperRootError} super-root/invalid; {CodedError} json/invalid
 */
export function superRootAnswerFromJson(value: unknown, timestampSec: number): SuperRootAnswer {
  const path = "superRoot";
  const object = jsonObject(value, path);
  const chainIds = requiredField(object, path, "chain_ids", list(chainId));
  const data = optionalField(object, path, "data", jsonObject);
  return {
    currentL1: requiredField(object, path, "current_l1", blockId),
    safeTimeSec: requiredField(object, path, "safe_timestamp", jsonInteger),
    finalizedTimeSec: requiredField(object, path, "finalized_timestamp", jsonInteger),
    data: data && checkedData(data, fieldKey(path, "data"), { chainIds, timestampSec }),
  };
}

function checkedData(
  data: Readonly<Record<string, unknown>>,
  path: string,
  expected: { readonly chainIds: readonly bigint[]; readonly timestampSec: number },
): SuperRootAnswer["data"] {
  const parts = requiredField(data, path, "super", jsonObject);
  const inSuper = fieldKey(path, "super");
  const timestampSec = requiredField(parts, inSuper, "timestamp", jsonQuantityNumber);
  if (timestampSec !== expected.timestampSec) {
    throw invalid(`its time is ${timestampSec}, and ${expected.timestampSec} was requested`);
  }
  const superRoot = createSuperRoot(timestampSec, requiredField(parts, inSuper, "chains", list(chainOutput)));
  const ids = superRoot.chains.map((chain) => chain.chainId);
  const isSet = ids.length === expected.chainIds.length && ids.every((id) => expected.chainIds.includes(id));
  if (!isSet) throw invalid(`it has the chains ${ids.join(", ")}, and chain_ids has ${expected.chainIds.join(", ")}`);
  const stated = requiredField(data, path, "super_root", jsonHash);
  const root = superRootHash(superRoot);
  if (!equalBytes(root, stated)) throw invalid(`its parts hash to ${bytesToHex(root)}, not to ${bytesToHex(stated)}`);
  return { superRoot, root: bytesToHex(root) };
}

const invalid = (reason: string): SuperRootError => new SuperRootError("super-root/invalid", { reason });

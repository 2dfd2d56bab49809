import type { EngineErrorName } from "@rnode/eth-api";
import {
  type BlockRules,
  blockRules,
  type ChainConfig,
  type EvmFork,
  type ExecutionPayload,
  isEvmForkAtLeast,
  isOpForkAtLeast,
  type PayloadAttributes,
} from "@rnode/protocol";

/**
 * Why a method's version does not fit its input.
 * Spec: docs/protocol/04-rpc.md#version-selection-by-l2-timestamp,
 *   docs/protocol/04-rpc.md#statuses-and-errors; execution-apis src/engine
 */
export interface VersionFault {
  readonly error: EngineErrorName;
  readonly detail: string;
}

const fault = (error: EngineErrorName, detail: string): VersionFault => ({ error, detail });

export const rulesAtTime = (config: ChainConfig, timestamp: number): BlockRules =>
  blockRules(config, { number: 1, timestamp, isPostMerge: true });

/** Presence of withdrawals and beacon root in V2 and V3 is checked with the other attributes, after the fork choice. */
export function checkForkchoiceVersion(
  config: ChainConfig,
  version: 1 | 2 | 3,
  attributes: PayloadAttributes | undefined,
): VersionFault | undefined {
  if (attributes === undefined) return undefined;
  const { evm } = rulesAtTime(config, attributes.timestamp);
  const isCancun = isEvmForkAtLeast(evm, "cancun");
  switch (version) {
    case 1:
      if (attributes.withdrawals !== undefined || attributes.parentBeaconBlockRoot !== undefined) {
        return fault("invalid-params", "withdrawals and beacon root not supported in V1");
      }
      return isEvmForkAtLeast(evm, "shanghai") ? fault("unsupported-fork", "forkchoiceUpdatedV1 called post-shanghai") : undefined;
    case 2:
      if (attributes.parentBeaconBlockRoot !== undefined) return fault("invalid-attributes", "unexpected beacon root");
      return isCancun
        ? fault("unsupported-fork", "forkchoiceUpdatedV2 must only be called with paris and shanghai payloads")
        : undefined;
    case 3:
      return isCancun ? undefined : fault("unsupported-fork", "forkchoiceUpdatedV3 must only be called for cancun payloads");
  }
}

export type NewPayloadVersion = 1 | 2 | 3 | 4;

export interface NewPayloadInput {
  readonly payload: ExecutionPayload;
  readonly versionedHashes: readonly Uint8Array[] | undefined;
  readonly parentBeaconBlockRoot: Uint8Array | undefined;
  readonly executionRequests: readonly Uint8Array[] | undefined;
}

export function checkNewPayloadVersion(
  config: ChainConfig,
  version: NewPayloadVersion,
  input: NewPayloadInput,
): VersionFault | undefined {
  const { payload } = input;
  const rules = rulesAtTime(config, payload.timestamp);
  const isShanghai = isEvmForkAtLeast(rules.evm, "shanghai");
  const invalid = (detail: string): VersionFault => fault("invalid-params", detail);
  if (version <= 2) {
    if (version === 1 && payload.withdrawals !== undefined) return invalid("withdrawals not supported in V1");
    if (isEvmForkAtLeast(rules.evm, "cancun")) return fault("unsupported-fork", `newPayloadV${version} called post-cancun`);
    if (isShanghai && payload.withdrawals === undefined) return invalid("nil withdrawals post-shanghai");
    if (!isShanghai && payload.withdrawals !== undefined) return invalid("non-nil withdrawals pre-shanghai");
    if (payload.excessBlobGas !== undefined) return invalid("non-nil excessBlobGas pre-cancun");
    if (payload.blobGasUsed !== undefined) return invalid("non-nil blobGasUsed pre-cancun");
    return undefined;
  }
  if (payload.withdrawals === undefined) return invalid("nil withdrawals post-shanghai");
  if (payload.excessBlobGas === undefined) return invalid("nil excessBlobGas post-cancun");
  if (payload.blobGasUsed === undefined) return invalid("nil blobGasUsed post-cancun");
  if (input.versionedHashes === undefined) return invalid("nil versionedHashes post-cancun");
  if (input.parentBeaconBlockRoot === undefined) return invalid("nil beaconRoot post-cancun");
  const isPrague = isEvmForkAtLeast(rules.evm, "prague");
  if (version === 3) {
    const isCancunOnly = isEvmForkAtLeast(rules.evm, "cancun") && !isPrague;
    return isCancunOnly ? undefined : fault("unsupported-fork", "newPayloadV3 must only be called for cancun payloads");
  }
  if (input.executionRequests === undefined) return invalid("nil executionRequests post-prague");
  if (!isPrague) return fault("unsupported-fork", "newPayloadV4 must only be called for prague payloads");
  const isIsthmus = rules.op !== undefined && isOpForkAtLeast(rules.op, "isthmus");
  return isIsthmus && payload.withdrawalsRoot === undefined ? invalid("nil withdrawalsRoot post-isthmus") : undefined;
}

export type GetPayloadVersion = 1 | 2 | 3 | 4 | 5;

const FIRST_FORK: Readonly<Record<GetPayloadVersion, EvmFork>> = { 1: "paris", 2: "paris", 3: "cancun", 4: "prague", 5: "osaka" };
const FIRST_FORK_AFTER: Readonly<Record<GetPayloadVersion, EvmFork | undefined>> = {
  1: "shanghai",
  2: "cancun",
  3: "prague",
  4: "osaka",
  5: undefined,
};

export function checkGetPayloadVersion(
  config: ChainConfig,
  version: GetPayloadVersion,
  timestamp: number,
): VersionFault | undefined {
  const { evm } = rulesAtTime(config, timestamp);
  const after = FIRST_FORK_AFTER[version];
  const fits = isEvmForkAtLeast(evm, FIRST_FORK[version]) && (after === undefined || !isEvmForkAtLeast(evm, after));
  return fits ? undefined : fault("unsupported-fork", `getPayloadV${version} is not for ${evm} payloads`);
}

import type { EngineErrorName } from "@rnode/eth-api";
import {
  type BlockRules,
  blockRules,
  type ChainConfig,
  type ExecutionPayload,
  type ForkchoiceUpdatedVersion,
  type GetPayloadVersion,
  type NewPayloadVersion,
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

/** The rules of payloads, which exist only after the merge. */
export const postMergeRulesAt = (config: ChainConfig, timestamp: number): BlockRules =>
  blockRules(config, { number: 1, timestamp, isPostMerge: true });

/**
 * Checks the version against the fork. In V2 and V3, the presence of withdrawals and beacon root is checked later, with the other
 * attributes, after the fork choice.
 */
export function checkForkchoiceVersion(
  config: ChainConfig,
  version: ForkchoiceUpdatedVersion,
  attributes: PayloadAttributes | undefined,
): VersionFault | undefined {
  if (attributes === undefined) return undefined;
  const isAccepted = postMergeRulesAt(config, attributes.timestamp).forkchoiceUpdated.accepted.includes(version);
  const unsupported = (detail: string) => (isAccepted ? undefined : fault("unsupported-fork", detail));
  switch (version) {
    case 1:
      if (attributes.withdrawals !== undefined || attributes.parentBeaconBlockRoot !== undefined) {
        return fault("invalid-params", "withdrawals and beacon root not supported in V1");
      }
      return unsupported("forkchoiceUpdatedV1 called post-shanghai");
    case 2:
      if (attributes.parentBeaconBlockRoot !== undefined) return fault("invalid-attributes", "unexpected beacon root");
      return unsupported("forkchoiceUpdatedV2 must only be called with paris and shanghai payloads");
    case 3:
      return unsupported("forkchoiceUpdatedV3 must only be called for cancun payloads");
  }
}

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
  const rules = postMergeRulesAt(config, payload.timestamp);
  const isAccepted = rules.newPayload.accepted.includes(version);
  const invalid = (detail: string): VersionFault => fault("invalid-params", detail);
  if (version <= 2) {
    if (version === 1 && payload.withdrawals !== undefined) return invalid("withdrawals not supported in V1");
    if (!isAccepted) return fault("unsupported-fork", `newPayloadV${version} called post-cancun`);
    if (rules.hasWithdrawals && payload.withdrawals === undefined) return invalid("nil withdrawals post-shanghai");
    if (!rules.hasWithdrawals && payload.withdrawals !== undefined) return invalid("non-nil withdrawals pre-shanghai");
    if (payload.excessBlobGas !== undefined) return invalid("non-nil excessBlobGas pre-cancun");
    if (payload.blobGasUsed !== undefined) return invalid("non-nil blobGasUsed pre-cancun");
    return undefined;
  }
  const missing = missingPayloadField(version === 3 ? 3 : 4, input);
  if (missing !== undefined) return invalid(missing);
  if (version === 3) {
    return isAccepted ? undefined : fault("unsupported-fork", "newPayloadV3 must only be called for cancun payloads");
  }
  if (!isAccepted) return fault("unsupported-fork", "newPayloadV4 must only be called for prague payloads");
  const badRequests = requestsFault(input.executionRequests ?? []);
  if (badRequests !== undefined) return invalid(badRequests);
  return rules.hasMessagePasserRoot && payload.withdrawalsRoot === undefined
    ? invalid("nil withdrawalsRoot post-isthmus")
    : undefined;
}

/** Each request is its type and data that is not empty; types ascend, and none comes twice. Spec: execution-apis engine_newPayloadV4, EIP-7685 */
function requestsFault(requests: readonly Uint8Array[]): string | undefined {
  let lastType = -1;
  for (const [index, request] of requests.entries()) {
    const [type] = request;
    if (type === undefined || request.length < 2) return `executionRequests[${index}] is empty: expected a type and data`;
    if (type <= lastType) return `executionRequests[${index}] has type ${type} after type ${lastType}: types must ascend`;
    lastType = type;
  }
  return undefined;
}

/** The field that a version requires and the input lacks. */
export function missingPayloadField(version: 3 | 4, input: NewPayloadInput): string | undefined {
  const { payload } = input;
  if (payload.withdrawals === undefined) return "nil withdrawals post-shanghai";
  if (payload.excessBlobGas === undefined) return "nil excessBlobGas post-cancun";
  if (payload.blobGasUsed === undefined) return "nil blobGasUsed post-cancun";
  if (input.versionedHashes === undefined) return "nil versionedHashes post-cancun";
  if (input.parentBeaconBlockRoot === undefined) return "nil beaconRoot post-cancun";
  if (version === 4 && input.executionRequests === undefined) return "nil executionRequests post-prague";
  return undefined;
}

export function checkGetPayloadVersion(
  config: ChainConfig,
  version: GetPayloadVersion,
  timestamp: number,
): VersionFault | undefined {
  const { evm, getPayload } = postMergeRulesAt(config, timestamp);
  return getPayload.accepted.includes(version)
    ? undefined
    : fault("unsupported-fork", `getPayloadV${version} is not for ${evm} payloads`);
}

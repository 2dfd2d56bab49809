import {
  EVM_FORKS,
  type ForkchoiceUpdatedVersion,
  type ForkTimes,
  forkRules,
  type GetPayloadVersion,
  type NewPayloadVersion,
  rollupRulesAt,
} from "@rnode/protocol";

const NEWEST_RULES = forkRules(EVM_FORKS.at(-1)!);

/**
 * The version of an Engine API method that a block or its attributes need. Without attributes the newest version serves
 * every fork. Spec: docs/protocol/04-rpc.md#version-selection-by-l2-timestamp
 */
export function forkchoiceVersion(forkTimes: ForkTimes, attributesTimestampSec: number | undefined): ForkchoiceUpdatedVersion {
  const rules = attributesTimestampSec === undefined ? NEWEST_RULES : rollupRulesAt(forkTimes, attributesTimestampSec);
  return rules.forkchoiceUpdated.called;
}

export const getPayloadVersion = (forkTimes: ForkTimes, timestampSec: number): GetPayloadVersion =>
  rollupRulesAt(forkTimes, timestampSec).getPayload.called;

export const newPayloadVersion = (forkTimes: ForkTimes, timestampSec: number): NewPayloadVersion =>
  rollupRulesAt(forkTimes, timestampSec).newPayload.called;

/** The methods that driving the engine takes for blocks of a time. */
export const engineMethodsAt = (forkTimes: ForkTimes, timestampSec: number): readonly string[] => [
  `engine_forkchoiceUpdatedV${forkchoiceVersion(forkTimes, timestampSec)}`,
  `engine_getPayloadV${getPayloadVersion(forkTimes, timestampSec)}`,
  `engine_newPayloadV${newPayloadVersion(forkTimes, timestampSec)}`,
];

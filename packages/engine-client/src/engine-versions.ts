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

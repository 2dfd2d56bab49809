import { type ForkTimes, isOpForkActive } from "@rnode/protocol";

/**
 * Which version of an Engine API method a block or its attributes need.
 * Spec: docs/protocol/04-rpc.md#version-selection-by-l2-timestamp
 */
export function forkchoiceVersion(forkTimes: ForkTimes, attributesTimestampSec: number | undefined): 1 | 2 | 3 {
  if (attributesTimestampSec === undefined || isOpForkActive(forkTimes, "ecotone", attributesTimestampSec)) return 3;
  return isOpForkActive(forkTimes, "canyon", attributesTimestampSec) ? 2 : 1;
}

export function getPayloadVersion(forkTimes: ForkTimes, timestampSec: number): 2 | 3 | 4 | 5 {
  if (isOpForkActive(forkTimes, "karst", timestampSec)) return 5;
  if (isOpForkActive(forkTimes, "isthmus", timestampSec)) return 4;
  return isOpForkActive(forkTimes, "ecotone", timestampSec) ? 3 : 2;
}

export function newPayloadVersion(forkTimes: ForkTimes, timestampSec: number): 2 | 3 | 4 {
  if (isOpForkActive(forkTimes, "isthmus", timestampSec)) return 4;
  return isOpForkActive(forkTimes, "ecotone", timestampSec) ? 3 : 2;
}

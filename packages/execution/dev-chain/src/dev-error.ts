import { codedErrors } from "@rnode/primitives";

export type DevErrorCode =
  | "dev/time-not-after-head"
  | "dev/slot-taken"
  | "dev/unbuildable"
  | "dev/no-such-block"
  | "dev/below-finalized"
  | "dev/bad-request";

/** A request that a development chain cannot carry out. */
export class DevError extends codedErrors<DevErrorCode>({
  "dev/time-not-after-head": "time {timestamp} is not after that of the latest block, {latest}",
  "dev/slot-taken": "time {timestamp} is in slot {slot}, which has the latest block; slots take {slotSec} s",
  "dev/unbuildable": "the next block cannot be built: {reason}",
  "dev/no-such-block": "there is no block {number}; the latest is {latest}",
  "dev/below-finalized": "block {number} is below the finalized block {finalized}; say force: true to reorganise it nevertheless",
  "dev/bad-request": "{reason}",
}) {}

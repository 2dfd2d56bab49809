import { type CodedError, codedErrors } from "@rnode/primitives";

export type SnapshotErrorCode =
  /** the file does not begin as a snapshot does */
  | "snapshot/no-snapshot"
  /** written by an earlier version of this program: `format`, `supported` */
  | "snapshot/older-format"
  /** written by a later version of this program: `format`, `supported` */
  | "snapshot/newer-format"
  /** a byte was altered, or the file ends early or late: `offset` of the frame, `reason` */
  | "snapshot/damaged"
  /** intact, but its content is wrong: `reason` */
  | "snapshot/false-content"
  /** of another chain than the one that was named: `what`, `file`, `expected` */
  | "snapshot/other-chain"
  /** of another block than the one that was named: `what`, `file`, `expected` */
  | "snapshot/other-block"
  /** the disk is nearly full: `folder`, `freeBytes`, `reserveBytes` */
  | "snapshot/no-room"
  /** the list of a store's snapshots is not one to be trusted: `place`, `reason` */
  | "snapshot/bad-index"
  /** snapshots cannot be published there: `place`, `reason` */
  | "snapshot/bad-store"
  /** the store refuses a request, or does not answer: `place`, `reason` */
  | "snapshot/store-failed"
  /** a snapshot cannot be made of this block: `number`, `reason` */
  | "snapshot/no-such-state";

export class SnapshotError extends codedErrors<SnapshotErrorCode>({
  "snapshot/no-snapshot": "this is no snapshot file of rengine",
  "snapshot/older-format":
    "the snapshot has format {format}, of an earlier version of this program, and this one reads format {supported}: make it again with this version",
  "snapshot/newer-format": "the snapshot has format {format}, of a later version of this program, which reads up to {supported}",
  "snapshot/damaged": "the snapshot is damaged at byte {offset}: {reason}",
  "snapshot/false-content": "the snapshot is intact, but what it says is not so: {reason}",
  "snapshot/other-chain": "the snapshot is of another chain: its {what} is {file}, expected {expected}",
  "snapshot/other-block": "the snapshot is of another block: its {what} is {file}, expected {expected}",
  "snapshot/no-room":
    "the disk of {folder} has {freeBytes} bytes free, and {reserveBytes} are kept free: make room, or name a folder on another disk",
  "snapshot/bad-index": "the index of snapshots at {place} is not used: {reason}",
  "snapshot/bad-store": "{place} cannot be used for snapshots: {reason}",
  "snapshot/store-failed": "{place} does not take a request: {reason}",
  "snapshot/no-such-state": "no snapshot can be made of block {number}: {reason}",
}) {}

export const snapshotError = (code: SnapshotErrorCode, data: CodedError["data"] = {}, options?: ErrorOptions): SnapshotError =>
  new SnapshotError(code, data, options);

export const falseContent = (reason: string): SnapshotError => snapshotError("snapshot/false-content", { reason });

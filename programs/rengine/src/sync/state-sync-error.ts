import { type CodedError, codedErrors, isCodedError, isSystemError } from "@rnode/primitives";
import { UserError } from "@rnode/program";

export type StateSyncErrorCode =
  /** the file system refuses something: `folder`, `reason` */
  | "state-sync/io"
  /** the disk is too small: `folder`, `needMiB`, `freeMiB` */
  | "state-sync/no-room"
  /** a fault of this program: `reason` */
  | "state-sync/fault";

export class StateSyncError extends codedErrors<StateSyncErrorCode>({
  "state-sync/io": "the state sync cannot use {folder}: {reason}",
  "state-sync/no-room":
    "the state takes about {needMiB} MiB more of the disk of {folder}, which has {freeMiB} MiB free: make room, or name a folder on a larger disk",
  "state-sync/fault": "the state sync has failed by a fault of this program: {reason}",
}) {}

/** Room on the disk helps, and without it blocks cannot be synced either. */
export const isDiskFull = (error: Error): boolean =>
  isCodedError(error, "state-sync/no-room") || isCodedError(error, "storage/disk-full");

/** An error that ends an attempt, for operators. */
export function stateSyncFailure(error: unknown, folder: string): UserError | CodedError {
  if (error instanceof UserError || isCodedError(error)) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  return isSystemError(error)
    ? new StateSyncError("state-sync/io", { folder, reason }, options)
    : new StateSyncError("state-sync/fault", { reason }, options);
}

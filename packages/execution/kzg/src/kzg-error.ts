import { codedErrors } from "@rnode/primitives";

export type KzgErrorCode =
  /** the native library has no part for this machine */
  | "kzg/unsupported-platform"
  /** too many blobs wait already: try again later */
  | "kzg/busy"
  /** the thread and its replacement were lost: retry later */
  | "kzg/unavailable"
  /** not a blob: an element is not below the modulus, or the length is wrong */
  | "kzg/not-a-blob"
  | "kzg/closed";

export class KzgError extends codedErrors<KzgErrorCode>({
  "kzg/unsupported-platform": "blobs cannot be checked on this machine: {reason}",
  "kzg/busy": "{waiting} blobs are waiting for a thread already",
  "kzg/unavailable": "{reason}",
  "kzg/not-a-blob": "not a blob: it has another length, or a field element is not below the modulus",
  "kzg/closed": "blobs are not computed any more: the program is stopping",
}) {}

import { type CodedError, codedErrors } from "@rnode/primitives";

export type DownloadErrorCode =
  /** `url`, `reason` */
  | "download/failed"
  /** The server has no such file: `url`, `reason`. */
  | "download/not-found"
  /** The file is larger than the reader takes: `url`, `reason`. */
  | "download/too-large"
  /** The server has another file now than when the download began: `url`, `reason`. */
  | "download/replaced"
  /** The file arrived, but its content is not the expected one: `url`, `reason`. */
  | "download/wrong-content";

export class DownloadError extends codedErrors<DownloadErrorCode>({
  "download/failed": "{url} cannot be downloaded: {reason}",
  "download/not-found": "{url} cannot be downloaded: {reason}",
  "download/too-large": "{url} cannot be downloaded: {reason}",
  "download/replaced": "{url} cannot be downloaded: {reason}",
  "download/wrong-content": "{url} is not the expected file: {reason}",
}) {}

export const downloadError = (
  code: DownloadErrorCode,
  data: { readonly url: string; readonly reason: string } & CodedError["data"],
  options?: ErrorOptions,
): DownloadError => new DownloadError(code, data, options);

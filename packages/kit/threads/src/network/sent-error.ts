import { CodedError, isCodedError } from "@rnode/primitives";

/** An error as it crosses between threads. */
export interface SentError {
  readonly message: string;
  /** of a coded error, with its data */
  readonly code?: string | undefined;
  readonly data?: Readonly<Record<string, string | number | bigint | boolean>> | undefined;
}

export function sendError(error: unknown): SentError {
  const message = error instanceof Error ? error.message : String(error);
  return isCodedError(error) ? { message, code: error.code, data: error.data } : { message };
}

export function receiveError({ message, code, data }: SentError): Error {
  if (code === undefined) return new Error(message);
  const error = new CodedError(code, data);
  error.message = message;
  return error;
}

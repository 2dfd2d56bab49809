import { CodedError, isCodedError } from "@rnode/primitives";
import type { SentError } from "./messages.ts";

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

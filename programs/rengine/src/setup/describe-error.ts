import { describeFailure } from "@rnode/program";
import { storageAdvice } from "@rnode/storage";

/**
 * Describes in one line an error that the user or the system caused, with advice if it is about the database; undefined for errors that
 * can only be a bug.
 */
export function describeError(error: unknown): string | undefined {
  const description = describeFailure(error);
  const advice = storageAdvice(error);
  return description === undefined || advice === undefined ? description : `${description}: ${advice}`;
}

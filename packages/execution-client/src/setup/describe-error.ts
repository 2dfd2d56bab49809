import { describeFailure } from "@rnode/program";
import { storageAdvice } from "@rnode/storage";

/** One line for what a user or the system caused, with what to do about a database; undefined for what can only be a fault of ours. */
export function describeError(error: unknown): string | undefined {
  const description = describeFailure(error);
  const advice = storageAdvice(error);
  return description === undefined || advice === undefined ? description : `${description}: ${advice}`;
}

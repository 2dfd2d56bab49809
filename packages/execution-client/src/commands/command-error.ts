import { CodedError } from "@rnode/primitives";
import { storageAdvice } from "@rnode/storage";

/** Bad input to a command: one line that says what and what to do. */
export class CommandError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandError";
  }
}

/** One line for what a user or the system caused; undefined for what can only be a fault of ours. */
export function describeError(error: unknown): string | undefined {
  if (error instanceof CommandError || error instanceof CodedError) {
    const advice = storageAdvice(error);
    return oneLine(advice === undefined ? error.message : `${error.message}: ${advice}`);
  }
  if (error instanceof Error && "code" in error && typeof error.code === "string") return oneLine(error.message); // ENOENT and the like
  return undefined;
}

const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, " ");

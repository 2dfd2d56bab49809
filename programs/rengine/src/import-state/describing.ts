import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";

/** Runs `read`, which reads a source. @throws {UserError} in place of the source's errors */
export function describing<T>(read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (isCodedError(cause, "chain/wrong-state")) throw new UserError(String(cause.data.reason), { cause });
    if (!isCodedError(cause, "reth-data/") && !isCodedError(cause, "chain/incomplete-state")) throw cause;
    throw new UserError(`--from: ${cause.message}`, { cause });
  }
}

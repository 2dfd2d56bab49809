import { codedErrors, isCodedError } from "@rnode/primitives";

export type RollupClientErrorCode =
  /** the node's answer does not have the form that the method defines */
  | "rollup-client/bad-answer"
  /** an output root that does not follow from its parts, or is that of another block */
  | "rollup-client/bad-output"
  /** of several nodes, none says that its sequencer is active */
  | "rollup-client/no-active-sequencer"
  /** the endpoint serves another kind of API than the option requires */
  | "rollup-client/wrong-endpoint"
  /** an endpoint serves another chain */
  | "rollup-client/wrong-chain";

export class RollupClientError extends codedErrors<RollupClientErrorCode>({
  "rollup-client/bad-answer": "the answer to {method} is not what the method promises",
  "rollup-client/bad-output": "the rollup node's output root of block {number} cannot be used: {reason}",
  "rollup-client/no-active-sequencer": "none of the rollup nodes has an active sequencer: {reasons}",
  "rollup-client/wrong-endpoint":
    "{option} {endpoint} is not the {expected}: it answers {got}; give the RPC address of the {expected}",
  "rollup-client/wrong-chain":
    "{option}: its {what} is {got}, but the rollup node's chain has {expected}; name an endpoint of that chain",
}) {}

/** @throws {RollupClientError} rollup-client/bad-answer: whatever the parsers reject is the node's fault */
export function readAnswer<T>(method: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!isCodedError(cause) || cause instanceof RollupClientError) throw cause;
    throw new RollupClientError("rollup-client/bad-answer", { method, reason: cause.message }, { cause });
  }
}

import { CodedError } from "@rnode/primitives";

export type StartErrorCode =
  | "start/bad-config"
  | "start/wrong-chain"
  /** the endpoint serves another kind of API than the option requires */
  | "start/wrong-endpoint"
  /** the fork times are not those of the engine's chain */
  | "start/wrong-forks"
  | "start/old-engine"
  | "start/clock"
  | "start/unauthorized"
  | "start/unreachable"
  | "start/bad-admin-state";

/** Why the node cannot start, in one line that says what to do. The exit code is 1. */
export class StartError extends CodedError<StartErrorCode> {
  constructor(code: StartErrorCode, text: string, options?: ErrorOptions) {
    super(code, {}, options);
    this.message = text;
  }
}

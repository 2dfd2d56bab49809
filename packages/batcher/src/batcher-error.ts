import { CodedError } from "@rnode/primitives";

export type BatcherErrorCode =
  /** the settings do not match the rollup, or each other */
  | "batcher/bad-config"
  /** an endpoint serves another chain */
  | "batcher/wrong-chain"
  /** something else than what the option wants listens there */
  | "batcher/wrong-endpoint"
  /** an endpoint's answer is not what the method promises */
  | "batcher/bad-answer"
  /** a block does not fit into any channel */
  | "batcher/block-too-large";

export class BatcherError extends CodedError<BatcherErrorCode> {}

import { codedErrors } from "@rnode/primitives";

export type BatcherErrorCode =
  /** the settings do not match the rollup, or each other */
  | "batcher/bad-config"
  /** an endpoint serves another chain */
  | "batcher/wrong-chain"
  /** the endpoint serves another kind of API than the option requires */
  /** the endpoint's answer does not have the form that the method defines */
  | "batcher/bad-answer"
  /** a block does not fit into any channel */
  | "batcher/block-too-large";

export class BatcherError extends codedErrors<BatcherErrorCode>({
  "batcher/bad-config": "{option}: {value} does not do; expected {expected}",
  "batcher/wrong-chain":
    "{option}: its {what} is {got}, but the rollup node's chain has {expected}; name an endpoint of that chain",
  "batcher/bad-answer": "the answer to {method} is not what the method promises",
  "batcher/block-too-large": "block {number} of {sizeBytes} bytes does not fit into any channel",
}) {}

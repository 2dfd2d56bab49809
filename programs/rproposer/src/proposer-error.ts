import { codedErrors } from "@rnode/primitives";

export type ProposerErrorCode =
  /** there is no contract that output roots can be posted to */
  | "proposer/no-contract"
  /** the settings do not fit the contract that the chain has */
  | "proposer/bad-config"
  /** the contract's answer does not have the form that the function defines */
  | "proposer/bad-answer"
  /** no source of super roots has the one that is asked for */
  | "proposer/no-super-root";

export class ProposerError extends codedErrors<ProposerErrorCode>({
  "proposer/no-contract": "{option} {address}: {reason}; {remedy}",
  "proposer/bad-config": "{option}: {value} does not do; expected {expected}",
  "proposer/bad-answer": "the L1 contract {address} answered {what} with {got}, which is not what the function promises",
  "proposer/no-super-root": "no source of --superroot-rpcs says {what}: {reasons}",
}) {}

import { codedErrors } from "@rnode/primitives";

export type AltDaErrorCode =
  /** the server did not answer, or not in time: try again later */
  | "alt-da/unavailable"
  /** it answered, but not with what was asked for */
  | "alt-da/bad-answer"
  /** the data that it gave is not what the commitment says */
  | "alt-da/wrong-data"
  /** there is nothing to store */
  | "alt-da/empty-input";

export class AltDaError extends codedErrors<AltDaErrorCode>({
  "alt-da/unavailable": "the DA server {server} does not answer: {reason}",
  "alt-da/bad-answer": "the DA server {server} answers {what} with {got}",
  "alt-da/wrong-data": "the DA server {server} gave data that does not hash to the commitment {commitment}",
  "alt-da/empty-input": "there is no data to store on the DA server",
}) {}

import { codedErrors } from "@rnode/primitives";

export type AltDaErrorCode =
  /** the server did not answer, or not in time: try again later */
  | "alt-da/unavailable"
  /** the answer is not a valid answer to the request */
  | "alt-da/bad-answer"
  /** the data does not match the commitment */
  | "alt-da/wrong-data"
  /** there is nothing to store */
  | "alt-da/empty-input";

export class AltDaError extends codedErrors<AltDaErrorCode>({
  "alt-da/unavailable": "the DA server {server} does not answer: {reason}",
  "alt-da/bad-answer": "the DA server {server} answers {what} with {got}",
  "alt-da/wrong-data": "the DA server {server} gave data that does not hash to the commitment {commitment}",
  "alt-da/empty-input": "there is no data to store on the DA server",
}) {}

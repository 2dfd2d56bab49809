import { CodedError } from "@rnode/primitives";

export type WireErrorCode =
  // snappy
  /** the length in front cannot be read, or exceeds 32 bits */
  | "snappy/bad-length"
  /** longer than the caller allows; nothing was allocated */
  | "snappy/too-long"
  | "snappy/corrupt"
  // SSZ
  | "ssz/truncated"
  /** an offset that does not follow from the lengths before it */
  | "ssz/bad-offset"
  /** a field or a list beyond its limit, or of another length than the format has */
  | "ssz/bad-length"
  /** above 2^53 − 1, or not of its number of bits */
  | "ssz/bad-number"
  /** a field that the version has is missing, or one that it has not is there */
  | "ssz/wrong-version"
  // gossip message
  | "gossip/bad-length"
  | "gossip/bad-signature";

/** Bytes that are not of the format, or a value that the format cannot hold. */
export class WireError extends CodedError<WireErrorCode> {}

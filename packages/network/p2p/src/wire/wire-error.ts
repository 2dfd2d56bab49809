import { CodedError } from "@rnode/primitives";

export type WireErrorCode =
  // snappy in frames
  /** the stream does not begin with its identifier */
  | "frames/no-identifier"
  /** a type of chunk that must not be skipped, and has no meaning yet */
  | "frames/reserved-chunk"
  /** of a chunk, by its header */
  | "frames/bad-length"
  | "frames/bad-checksum"
  /** beyond a limit, in a chunk or in all; nothing was allocated */
  | "frames/too-long"
  | "frames/truncated"
  // SSZ
  | "ssz/truncated"
  /** an offset that does not follow from the lengths before it */
  | "ssz/bad-offset"
  /** a field or a list beyond its limit, or of another length than the format has */
  | "ssz/bad-length"
  /** above 2^53 − 1, or not of its number of bits */
  | "ssz/bad-number"
  /** a field of the version is missing, or has a field of another version */
  | "ssz/wrong-version"
  // answers to requests
  | "response/truncated"
  /** not the version that a block of this number has */
  | "response/unknown-version"
  /** a block that no peer would take */
  | "response/too-large"
  // gossip message
  | "gossip/bad-length"
  | "gossip/bad-signature";

/** Bytes that are not of the format, or a value that the format cannot hold. */
export class WireError extends CodedError<WireErrorCode> {}

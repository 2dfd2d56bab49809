import { EMPTY_REQUESTS_HASH, equalBytes } from "@rnode/primitives";
import type { Header } from "../blocks/block.ts";
import { hashHeader } from "../blocks/header-codec.ts";
import type { ExecutionPayload, ExecutionPayloadEnvelope } from "../blocks/payload.ts";
import { payloadToHeader } from "./payload-block.ts";

/**
 * A payload whose content hashes to its `blockHash`. The transactions root and the hash are computed where the payload enters the
 * process; every later user takes them from here.
 */
export class HashedPayload implements ExecutionPayloadEnvelope {
  readonly executionPayload: ExecutionPayload;
  readonly parentBeaconBlockRoot: Uint8Array | undefined;
  /** private to the class, so that no other object can pass for one */
  readonly #header: Header;

  private constructor({ executionPayload, parentBeaconBlockRoot }: ExecutionPayloadEnvelope, header: Header) {
    this.executionPayload = executionPayload;
    this.parentBeaconBlockRoot = parentBeaconBlockRoot;
    this.#header = header;
  }

  get header(): Header {
    return this.#header;
  }

  /**
   * Hashes a payload, unless it was hashed in the same form before.
   *
   * @param hasExecutionRequests whether the header has a requests hash (Isthmus)
   * @param orderedTrieRoot root of the trie of a list's items under their RLP indices
   * @returns the payload, or the hash of its content if that differs from its `blockHash`
   */
  static hash(
    envelope: ExecutionPayloadEnvelope,
    hasExecutionRequests: boolean,
    orderedTrieRoot: (encodedItems: readonly Uint8Array[]) => Uint8Array,
  ): HashedPayload | Uint8Array {
    const isHashed = envelope instanceof HashedPayload && (envelope.header.requestsHash !== undefined) === hasExecutionRequests;
    if (isHashed) return envelope;
    const header = payloadToHeader(envelope, hasExecutionRequests ? EMPTY_REQUESTS_HASH : undefined, orderedTrieRoot);
    const hash = hashHeader(header);
    return equalBytes(hash, envelope.executionPayload.blockHash) ? new HashedPayload(envelope, header) : hash;
  }

  /**
   * A payload with a known header. The caller has checked it, or another thread of this process.
   *
   * @param header hashes to the payload's `blockHash`, and commits to its content
   */
  static of(envelope: ExecutionPayloadEnvelope, header: Header): HashedPayload {
    return new HashedPayload(envelope, header);
  }
}

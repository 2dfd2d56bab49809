import { bytesToHex, equalBytes } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, type ForkTimes, payloadHash } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { ConductorError } from "../conductor-error.ts";

/**
 * Checks that a payload hashes to the block hash that it states. Otherwise one request could commit a block that does not exist, and no block could
 * follow it.
 *
 * @throws {ConductorError} conductor/bad-payload
 */
export function assertPayloadHash(forkTimes: ForkTimes, envelope: ExecutionPayloadEnvelope): void {
  const { blockHash, blockNumber } = envelope.executionPayload;
  const actual = payloadHash(forkTimes, envelope, orderedTrieRoot);
  if (equalBytes(actual, blockHash)) return;
  const data = { number: blockNumber, stated: bytesToHex(blockHash), actual: bytesToHex(actual) };
  throw new ConductorError("conductor/bad-payload", data);
}

import { bytesToHex, CodedError, type Hex } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, HashedPayload, type RollupConfig, rollupRulesAt } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { blockTimestampSec } from "../wire/payload-by-number.ts";

export type AnswerErrorCode =
  | "answer/wrong-number"
  /** not the time of a block of that number */
  | "answer/wrong-time"
  /** the hash does not cover them from Isthmus on; no block has any */
  | "answer/withdrawals"
  /** the content does not hash to the block hash that the payload states */
  | "answer/bad-hash";

/** The peer sent another block than the requested one. */
export class AnswerError extends CodedError<AnswerErrorCode> {}

/** overhead of a byte array */
const OBJECT_BYTES = 120;

/** A payload with the requested number and a valid block hash. Only `check` creates one. */
export class CheckedPayload {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** of memory, about */
  readonly sizeBytes: number;
  /** private to the class, so no other object has the type */
  readonly #envelope: HashedPayload;

  private constructor(envelope: HashedPayload) {
    const { blockNumber, blockHash, parentHash, transactions } = envelope.executionPayload;
    this.#envelope = envelope;
    this.number = blockNumber;
    this.hash = bytesToHex(blockHash);
    this.parentHash = bytesToHex(parentHash);
    this.sizeBytes = transactions.reduce((sum, { length }) => sum + length + OBJECT_BYTES, 2_000);
  }

  get envelope(): HashedPayload {
    return this.#envelope;
  }

  /** @throws {AnswerError} */
  static check(config: RollupConfig, number: number, envelope: ExecutionPayloadEnvelope): CheckedPayload {
    const { blockNumber, timestamp, withdrawals, blockHash } = envelope.executionPayload;
    if (blockNumber !== number) throw new AnswerError("answer/wrong-number", { number, got: blockNumber });
    const expected = blockTimestampSec(config, number);
    if (timestamp !== expected) throw new AnswerError("answer/wrong-time", { number, timestamp, expected });
    if (withdrawals !== undefined && withdrawals.length > 0) throw new AnswerError("answer/withdrawals", { number });
    const { hasExecutionRequests } = rollupRulesAt(config.forkTimes, timestamp);
    const hashed = HashedPayload.hash(envelope, hasExecutionRequests, orderedTrieRoot);
    if (hashed instanceof HashedPayload) return new CheckedPayload(hashed);
    throw new AnswerError("answer/bad-hash", { number, stated: bytesToHex(blockHash), actual: bytesToHex(hashed) });
  }
}

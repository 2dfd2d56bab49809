import { EMPTY_REQUESTS_HASH } from "@rnode/primitives";
import { type ExecutionPayloadEnvelope, type ForkTimes, HashedPayload, payloadToHeader } from "@rnode/protocol";
import { orderedTrieRoot } from "@rnode/trie";
import { decodeEnvelope, encodeEnvelope } from "../wire/envelope.ts";
import { type PayloadVersion, payloadVersionAt } from "../wire/payload-ssz.ts";

/** A block between threads: one buffer, which is transferred instead of copied. */
export interface EncodedBlock {
  readonly version: PayloadVersion;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** A block of the network, which was hashed in the network's thread. */
export interface ReceivedBlock extends EncodedBlock {
  /** 32 bytes */
  readonly transactionsRoot: Uint8Array;
}

/** @throws {WireError} ssz/wrong-version: not the form that blocks of its time have */
export const encodeBlock = (forkTimes: ForkTimes, envelope: ExecutionPayloadEnvelope): EncodedBlock =>
  encodeAs(payloadVersionAt(forkTimes, envelope.executionPayload.timestamp), envelope);

/** In the form that it came in from the network. */
export function encodeReceivedBlock(payload: HashedPayload): ReceivedBlock {
  const { withdrawals, excessBlobGas, withdrawalsRoot } = payload.executionPayload;
  const version = withdrawalsRoot !== undefined ? 4 : excessBlobGas !== undefined ? 3 : withdrawals !== undefined ? 2 : 1;
  // a copy: a message copies the whole buffer of a view
  return { ...encodeAs(version, payload), transactionsRoot: payload.header.transactionsRoot.slice() };
}

const encodeAs = (version: PayloadVersion, envelope: ExecutionPayloadEnvelope): EncodedBlock => ({
  version,
  bytes: encodeEnvelope(envelope, version) as Uint8Array<ArrayBuffer>,
});

export const decodeBlock = ({ version, bytes }: EncodedBlock): ExecutionPayloadEnvelope => decodeEnvelope(bytes, version);

/** The block as the other thread hashed it: neither its hash nor its transactions root are computed again. */
export function decodeReceivedBlock({ transactionsRoot, ...block }: ReceivedBlock): HashedPayload {
  const envelope = decodeBlock(block);
  const { transactions } = envelope.executionPayload;
  const rootOf = (items: readonly Uint8Array[]): Uint8Array => (items === transactions ? transactionsRoot : orderedTrieRoot(items));
  return HashedPayload.of(envelope, payloadToHeader(envelope, block.version >= 4 ? EMPTY_REQUESTS_HASH : undefined, rootOf));
}

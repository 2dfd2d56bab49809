import type { ExecutionPayloadEnvelope, ForkTimes } from "@rnode/protocol";
import { decodeEnvelope, encodeEnvelope } from "../wire/envelope.ts";
import { type PayloadVersion, payloadVersionAt } from "../wire/payload-ssz.ts";

/** A block between threads: one buffer, which is transferred instead of copied. */
export interface EncodedBlock {
  readonly version: PayloadVersion;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** @throws {WireError} ssz/wrong-version: not the form that blocks of its time have */
export const encodeBlock = (forkTimes: ForkTimes, envelope: ExecutionPayloadEnvelope): EncodedBlock =>
  encodeAs(payloadVersionAt(forkTimes, envelope.executionPayload.timestamp), envelope);

/** In the form that it came in from the network. */
export function encodeReceivedBlock(envelope: ExecutionPayloadEnvelope): EncodedBlock {
  const { withdrawals, excessBlobGas, withdrawalsRoot } = envelope.executionPayload;
  const version = withdrawalsRoot !== undefined ? 4 : excessBlobGas !== undefined ? 3 : withdrawals !== undefined ? 2 : 1;
  return encodeAs(version, envelope);
}

const encodeAs = (version: PayloadVersion, envelope: ExecutionPayloadEnvelope): EncodedBlock => ({
  version,
  bytes: encodeEnvelope(envelope, version) as Uint8Array<ArrayBuffer>,
});

export const decodeBlock = ({ version, bytes }: EncodedBlock): ExecutionPayloadEnvelope => decodeEnvelope(bytes, version);

import type { ExecutionPayloadEnvelope } from "@rnode/protocol";
import { decodePayload, encodePayload, type PayloadVersion } from "./payload-ssz.ts";
import { WireError } from "./wire-error.ts";

const ROOT_BYTES = 32;

/** From V3 on the parent beacon block root precedes the payload. */
const hasRoot = (version: PayloadVersion): boolean => version >= 3;

/**
 * A payload with its prefix. Spec: docs/protocol/03-p2p.md#message-body
 *
 * @param prefixBytes free bytes at the start, for the caller to fill
 * @throws {WireError} ssz/wrong-version, ssz/bad-length, ssz/bad-number
 */
export function encodeEnvelope(envelope: ExecutionPayloadEnvelope, version: PayloadVersion, prefixBytes = 0): Uint8Array {
  const { executionPayload, parentBeaconBlockRoot: root } = envelope;
  if ((root !== undefined) !== hasRoot(version)) {
    throw new WireError("ssz/wrong-version", { version, field: "parentBeaconBlockRoot" });
  }
  if (root === undefined) return encodePayload(executionPayload, version, prefixBytes);
  if (root.length !== ROOT_BYTES) {
    throw new WireError("ssz/bad-length", { field: "parentBeaconBlockRoot", expected: ROOT_BYTES, got: root.length });
  }
  const bytes = encodePayload(executionPayload, version, prefixBytes + ROOT_BYTES);
  bytes.set(root, prefixBytes);
  return bytes;
}

/**
 * Its byte strings are views into `bytes`.
 *
 * @throws {WireError} ssz/truncated, ssz/bad-offset, ssz/bad-length, ssz/bad-number
 */
export function decodeEnvelope(bytes: Uint8Array, version: PayloadVersion): ExecutionPayloadEnvelope {
  if (!hasRoot(version)) return { executionPayload: decodePayload(bytes, version) };
  if (bytes.length < ROOT_BYTES) throw new WireError("ssz/truncated", { length: bytes.length, fixed: ROOT_BYTES });
  return {
    executionPayload: decodePayload(bytes.subarray(ROOT_BYTES), version),
    parentBeaconBlockRoot: bytes.subarray(0, ROOT_BYTES),
  };
}

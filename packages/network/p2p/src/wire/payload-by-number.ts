import { uint64ToBytes } from "@rnode/primitives";
import type { ExecutionPayloadEnvelope, ForkTimes, RollupConfig } from "@rnode/protocol";
import { decodeEnvelope, encodeEnvelope } from "./envelope.ts";
import { payloadVersionAt } from "./payload-ssz.ts";
import { encodeSnappyFrames, SnappyFrameDecoder } from "./snappy-frames.ts";
import { WireError } from "./wire-error.ts";

/** of a request: the block's number, u64 LE */
export const REQUEST_BYTES = 8;
/** of an answer, both compressed and decompressed */
export const MAX_RESPONSE_BYTES = 10 * 1024 * 1024;
/** result u8 ‖ version u32 LE */
const PREAMBLE_BYTES = 5;

/** The first byte of an answer. All but `success` are the whole answer. */
export const RESULT = { success: 0, notFound: 1, invalid: 2, other: 3 } as const;

/**
 * Both forms are served; the client tries the one without the slash first, because op-node has only that, kona only the other.
 */
export const payloadByNumberProtocols = (l2ChainId: bigint): readonly [string, string] => {
  const id = `/opstack/req/payload_by_number/${l2ChainId}/0`;
  return [id, `${id}/`];
};

export const encodeRequest = (number: number): Uint8Array => uint64ToBytes(BigInt(number)).reverse();

/** A number too large to be exact is too large for any chain. @param bytes at least eight */
export function decodeRequest(bytes: Uint8Array): number {
  return Number(new DataView(bytes.buffer, bytes.byteOffset, REQUEST_BYTES).getBigUint64(0, true));
}

/**
 * A block as the answer to a request for it. Version 0 is the payload alone, version 1 the envelope, of Ecotone and of every fork since.
 * Spec: docs/protocol/03-p2p.md#request-response-payload-by-number
 *
 * @throws {WireError} ssz/*, response/too-large
 */
export function encodeResponse(forkTimes: ForkTimes, envelope: ExecutionPayloadEnvelope): Uint8Array {
  const ssz = encodeEnvelope(envelope, payloadVersionAt(forkTimes, envelope.executionPayload.timestamp));
  if (ssz.length > MAX_RESPONSE_BYTES) throw new WireError("response/too-large", { bytes: ssz.length, max: MAX_RESPONSE_BYTES });
  const bytes = encodeSnappyFrames(ssz, PREAMBLE_BYTES);
  if (bytes.length > MAX_RESPONSE_BYTES)
    throw new WireError("response/too-large", { bytes: bytes.length, max: MAX_RESPONSE_BYTES });
  bytes[0] = RESULT.success;
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(1, responseVersion(envelope), true);
  return bytes;
}

const responseVersion = ({ parentBeaconBlockRoot }: ExecutionPayloadEnvelope): number =>
  parentBeaconBlockRoot === undefined ? 0 : 1;

/** Reads an answer as it arrives, in pieces of any length. Which form a block has follows from its number. */
export class ResponseDecoder {
  private readonly payloadVersion: ReturnType<typeof payloadVersionAt>;
  private readonly preamble = new Uint8Array(PREAMBLE_BYTES);
  private filled = 0;
  private readonly frames = new SnappyFrameDecoder({
    maxCompressedBytes: MAX_RESPONSE_BYTES - PREAMBLE_BYTES,
    maxBytes: MAX_RESPONSE_BYTES,
  });

  constructor(config: RollupConfig, number: number) {
    this.payloadVersion = payloadVersionAt(config.forkTimes, blockTimestampSec(config, number));
  }

  get heldBytes(): number {
    return this.frames.heldBytes;
  }

  /** The peer's error code; `undefined`: it sends a block, or nothing has arrived yet. */
  get refusal(): number | undefined {
    return this.filled > 0 && this.preamble[0] !== RESULT.success ? this.preamble[0] : undefined;
  }

  /** @throws {WireError} response/unknown-version, frames/*, snappy/* */
  push(input: Uint8Array): void {
    let at = 0;
    while (at < input.length && this.filled < PREAMBLE_BYTES) {
      this.preamble[this.filled++] = input[at++]!;
      if (this.refusal !== undefined) return;
      if (this.filled === PREAMBLE_BYTES) this.assertVersion();
    }
    if (at < input.length) this.frames.push(input.subarray(at));
  }

  /** The block, once the peer has sent everything; its hash was not checked. @throws {WireError} response/truncated, frames/*, ssz/* */
  finish(): ExecutionPayloadEnvelope {
    if (this.filled < PREAMBLE_BYTES) throw new WireError("response/truncated", { bytes: this.filled });
    return decodeEnvelope(this.frames.finish(), this.payloadVersion);
  }

  private assertVersion(): void {
    const version = new DataView(this.preamble.buffer).getUint32(1, true);
    const expected = this.payloadVersion < 3 ? 0 : 1;
    if (version !== expected) throw new WireError("response/unknown-version", { version, expected });
  }
}

/** Blocks come at fixed times, from genesis on. */
export const blockTimestampSec = ({ genesis, blockTimeSec }: RollupConfig, number: number): number =>
  genesis.l2TimeSec + (number - genesis.l2.number) * blockTimeSec;

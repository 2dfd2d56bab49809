import { createHash } from "node:crypto";
import { asciiToBytes, concatBytes, equalBytes } from "@rnode/primitives";
import { snapshotError } from "../errors.ts";

/*
 * A snapshot is a sequence of frames, which can be written and read as a stream. All numbers are big-endian.
 *   file:  "rnodesnp" 8 ‖ format 4 ‖ frame…
 *   frame: kind 1 ‖ size of the payload 4 ‖ its size when decompressed 4 ‖ checksum 32 ‖ payload
 * A checksum is SHA-256 of the checksum before ‖ kind ‖ sizes ‖ payload (before the first frame: SHA-256 of the 12 bytes that begin the file). So each
 * frame is checked with everything before it as soon as it has arrived, none can be left out, moved or repeated, and the checksum of the last one
 * identifies the file.
 * Frames: one manifest, blocks, state, and one end, after which there is nothing.
 */

const FORMAT = 2;
const MAGIC = asciiToBytes("rnodesnp");
export const START_BYTES = MAGIC.length + 4;
const HASH_AT = 9;
export const FRAME_HEADER_BYTES = HASH_AT + 32;
/** Of a payload, compressed or not. Rows of state fill some MiB; a block with its receipts must fit. */
const MAX_PAYLOAD_BYTES = 128 << 20;

const FRAME_KINDS = ["manifest", "blocks", "state", "end"] as const;
export type FrameKind = (typeof FRAME_KINDS)[number];

/** The header of a frame, before its payload has arrived. */
export interface FrameHeader {
  readonly kind: FrameKind;
  readonly payloadBytes: number;
  /** of the decompressed payload */
  readonly contentBytes: number;
  readonly checksum: Uint8Array;
}

export function fileStart(): Uint8Array {
  const format = new Uint8Array(4);
  new DataView(format.buffer).setUint32(0, FORMAT);
  return concatBytes(MAGIC, format);
}

/** @throws {CodedError} snapshot/no-snapshot, snapshot/older-format, snapshot/newer-format */
export function checkFileStart(bytes: Uint8Array): void {
  if (bytes.length < START_BYTES || !equalBytes(bytes.subarray(0, MAGIC.length), MAGIC))
    throw snapshotError("snapshot/no-snapshot");
  const format = new DataView(bytes.buffer, bytes.byteOffset).getUint32(MAGIC.length);
  if (format === 0) throw snapshotError("snapshot/no-snapshot");
  if (format < FORMAT) throw snapshotError("snapshot/older-format", { format, supported: FORMAT });
  if (format > FORMAT) throw snapshotError("snapshot/newer-format", { format, supported: FORMAT });
}

/** The checksums of a file's frames, one after the other. */
export class ChecksumChain {
  #last: Uint8Array;

  /** @param last checksum of the previous frame; `undefined`: at the first one */
  constructor(last: Uint8Array = createHash("sha256").update(fileStart()).digest()) {
    this.#last = last;
  }

  /** of the frame before */
  get last(): Uint8Array {
    return this.#last;
  }

  /** @param header the first nine bytes of the frame at least */
  next(header: Uint8Array, payload: Uint8Array): Uint8Array {
    this.#last = createHash("sha256").update(this.#last).update(header.subarray(0, HASH_AT)).update(payload).digest();
    return this.#last;
  }
}

/** @returns the header of the frame, which the payload follows */
export function encodeFrameHeader(kind: FrameKind, payload: Uint8Array, contentBytes: number, chain: ChecksumChain): Uint8Array {
  const header = new Uint8Array(FRAME_HEADER_BYTES);
  const view = new DataView(header.buffer);
  header[0] = FRAME_KINDS.indexOf(kind) + 1;
  view.setUint32(1, payload.length);
  view.setUint32(5, contentBytes);
  header.set(chain.next(header, payload), HASH_AT);
  return header;
}

/** @param offset of the frame, for errors. @throws {CodedError} snapshot/damaged */
export function decodeFrameHeader(bytes: Uint8Array, offset: number): FrameHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = FRAME_KINDS[bytes[0]! - 1];
  const payloadBytes = view.getUint32(1);
  const contentBytes = view.getUint32(5);
  if (kind === undefined) throw snapshotError("snapshot/damaged", { offset, reason: `there is no kind ${bytes[0]} of frames` });
  if (payloadBytes > MAX_PAYLOAD_BYTES || contentBytes > MAX_PAYLOAD_BYTES) {
    throw snapshotError("snapshot/damaged", {
      offset,
      reason: `a frame of ${Math.max(payloadBytes, contentBytes)} bytes is too large`,
    });
  }
  return { kind, payloadBytes, contentBytes, checksum: bytes.slice(HASH_AT, FRAME_HEADER_BYTES) };
}

/** @throws {CodedError} snapshot/damaged */
export function checkFrame(header: Uint8Array, payload: Uint8Array, chain: ChecksumChain, offset: number): void {
  const expected = decodeFrameHeader(header, offset).checksum;
  if (!equalBytes(chain.next(header, payload), expected)) {
    throw snapshotError("snapshot/damaged", { offset, reason: "the checksum is not that of the bytes" });
  }
}

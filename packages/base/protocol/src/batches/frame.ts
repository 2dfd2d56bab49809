import { CodedError } from "@rnode/primitives";
import { joinBytes } from "../params/byte-cursor.ts";

/** A piece of a channel. Spec: docs/protocol/02-derivation.md#frames */
export interface Frame {
  /** 16 bytes */
  readonly channelId: Uint8Array;
  /** u16 */
  readonly number: number;
  readonly data: Uint8Array;
  readonly isLast: boolean;
}

export type FrameErrorCode =
  | "frame/empty"
  | "frame/unknown-version"
  | "frame/no-frames"
  | "frame/truncated"
  | "frame/too-long"
  | "frame/bad-is-last"
  | "frame/bad-number";

export const CHANNEL_ID_BYTES = 16;
export const MAX_FRAME_DATA_BYTES = 1_000_000;
export const MAX_FRAME_NUMBER = 0xffff;
/** Size of an encoded frame without its data. */
export const FRAME_OVERHEAD_BYTES = 23;
/** First byte of batcher data that holds frames. */
export const DERIVATION_VERSION = 0;

const HEADER_BYTES = 22;

/**
 * Decodes the frame at `offset`.
 *
 * Layout, big-endian: channel_id 16 ‖ frame_number 2 ‖ frame_data_length 4 ‖ frame_data ‖ is_last 1
 *
 * @returns the frame, whose bytes are views into `input`, and the position after it
 * @throws {CodedError} frame/truncated, frame/too-long, frame/bad-is-last: the whole batcher data is ignored
 */
export function decodeFrame(input: Uint8Array, offset: number): { frame: Frame; end: number } {
  const dataAt = offset + HEADER_BYTES;
  if (input.length < dataAt) throw new CodedError<FrameErrorCode>("frame/truncated", { offset });
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const length = view.getUint32(offset + 18);
  if (length > MAX_FRAME_DATA_BYTES) throw new CodedError<FrameErrorCode>("frame/too-long", { offset, length });
  const lastAt = dataAt + length;
  const isLast = input[lastAt];
  if (isLast === undefined) throw new CodedError<FrameErrorCode>("frame/truncated", { offset });
  if (isLast > 1) throw new CodedError<FrameErrorCode>("frame/bad-is-last", { offset, isLast });
  const channelId = input.subarray(offset, offset + CHANNEL_ID_BYTES);
  const frame = { channelId, number: view.getUint16(offset + 16), data: input.subarray(dataAt, lastAt), isLast: isLast === 1 };
  return { frame, end: lastAt + 1 };
}

/** @throws {CodedError} frame/too-long, frame/bad-number */
export function encodeFrame(frame: Frame): Uint8Array {
  if (frame.data.length > MAX_FRAME_DATA_BYTES)
    throw new CodedError<FrameErrorCode>("frame/too-long", { length: frame.data.length });
  if (!Number.isInteger(frame.number) || frame.number < 0 || frame.number > MAX_FRAME_NUMBER) {
    throw new CodedError<FrameErrorCode>("frame/bad-number", { number: frame.number });
  }
  const bytes = new Uint8Array(FRAME_OVERHEAD_BYTES + frame.data.length);
  const view = new DataView(bytes.buffer);
  bytes.set(frame.channelId, 0);
  view.setUint16(16, frame.number);
  view.setUint32(18, frame.data.length);
  bytes.set(frame.data, HEADER_BYTES);
  bytes[bytes.length - 1] = frame.isLast ? 1 : 0;
  return bytes;
}

/**
 * The frames of a batcher transaction's calldata or blob: version byte 0 ‖ frames. Spec: docs/protocol/02-derivation.md#frames
 *
 * @throws {CodedError} frame/*: all of it is ignored
 */
export function decodeBatcherData(data: Uint8Array): Frame[] {
  const version = data[0];
  if (version === undefined) throw new CodedError<FrameErrorCode>("frame/empty");
  if (version !== DERIVATION_VERSION) throw new CodedError<FrameErrorCode>("frame/unknown-version", { version });
  const frames: Frame[] = [];
  for (let offset = 1; offset < data.length; ) {
    const { frame, end } = decodeFrame(data, offset);
    frames.push(frame);
    offset = end;
  }
  if (frames.length === 0) throw new CodedError<FrameErrorCode>("frame/no-frames");
  return frames;
}

/** Version byte 0 ‖ frames. @throws {CodedError} frame/too-long, frame/bad-number */
export function encodeBatcherData(frames: readonly Frame[]): Uint8Array {
  return joinBytes([Uint8Array.of(DERIVATION_VERSION), ...frames.map(encodeFrame)]);
}

import { concatBytes } from "@rnode/primitives";
import {
  ChecksumChain,
  decodeFrameHeader,
  encodeFrameHeader,
  FRAME_HEADER_BYTES,
  type FrameKind,
  fileStart,
  START_BYTES,
} from "../format/frames.ts";
import { pack, unpackSync } from "../format/packing.ts";

export interface FrameContent {
  readonly kind: FrameKind;
  readonly content: Uint8Array;
}

/** The frames of a snapshot, decompressed. */
export function framesOf(bytes: Uint8Array): FrameContent[] {
  const frames: FrameContent[] = [];
  for (let at = START_BYTES; at < bytes.length; ) {
    const { kind, payloadBytes, contentBytes } = decodeFrameHeader(bytes.subarray(at, at + FRAME_HEADER_BYTES), at);
    const end = at + FRAME_HEADER_BYTES + payloadBytes;
    frames.push({ kind, content: unpackSync(bytes.subarray(at + FRAME_HEADER_BYTES, end), contentBytes, at) });
    at = end;
  }
  return frames;
}

/** A file of these frames with valid checksums, as an attacker would create it. */
export async function fileOf(frames: readonly FrameContent[]): Promise<Uint8Array> {
  const chain = new ChecksumChain();
  const parts = [fileStart()];
  for (const { kind, content } of frames) {
    const payload = await pack(content);
    parts.push(encodeFrameHeader(kind, payload, content.length, chain), payload);
  }
  return concatBytes(...parts);
}

import { promisify } from "node:util";
import { constants, deflateRaw, inflateRaw, inflateRawSync } from "node:zlib";
import { snapshotError } from "../errors.ts";

const LEVEL = 4;

/** Compresses the content of a frame, in another thread. */
export async function pack(content: Uint8Array): Promise<Uint8Array> {
  return await promisify(deflateRaw)(content, { level: LEVEL, memLevel: 9 });
}

const optionsFor = (contentBytes: number) => ({
  maxOutputLength: Math.max(1, contentBytes),
  finishFlush: constants.Z_FINISH,
  chunkSize: Math.max(64, contentBytes),
});

function checked(content: Uint8Array, contentBytes: number, offset: number): Uint8Array {
  if (content.length !== contentBytes) throw damaged(offset);
  return new Uint8Array(content.buffer, content.byteOffset, content.length);
}

const damaged = (offset: number, cause?: unknown): Error =>
  snapshotError(
    "snapshot/damaged",
    { offset, reason: "the content of a frame cannot be decompressed to the size that it says" },
    { cause },
  );

/** @param contentBytes what must come out. @throws {CodedError} snapshot/damaged */
export async function unpack(payload: Uint8Array, contentBytes: number, offset: number): Promise<Uint8Array> {
  let content: Uint8Array;
  try {
    content = await promisify(inflateRaw)(payload, optionsFor(contentBytes));
  } catch (cause) {
    throw damaged(offset, cause);
  }
  return checked(content, contentBytes, offset);
}

/** Like `unpack`, in this thread. */
export function unpackSync(payload: Uint8Array, contentBytes: number, offset: number): Uint8Array {
  let content: Uint8Array;
  try {
    content = inflateRawSync(payload, optionsFor(contentBytes));
  } catch (cause) {
    throw damaged(offset, cause);
  }
  return checked(content, contentBytes, offset);
}

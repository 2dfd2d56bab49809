import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { snapshotError } from "../errors.ts";
import {
  ChecksumChain,
  checkFileStart,
  checkFrame,
  decodeFrameHeader,
  FRAME_HEADER_BYTES,
  type FrameHeader,
  type FrameKind,
  START_BYTES,
} from "../format/frames.ts";
import { unpack, unpackSync } from "../format/packing.ts";

/** A frame whose checksum is right. */
export interface CheckedFrame {
  readonly kind: FrameKind;
  /** in the file */
  readonly offset: number;
  /** position after it */
  readonly end: number;
  readonly contentBytes: number;
  readonly payload: Uint8Array;
  readonly checksum: Uint8Array;
}

/** Where the bytes of a snapshot are. */
interface ByteSource {
  readonly sizeBytes: number;
  /** @returns at most `size` bytes, fewer only at the end */
  read(offset: number, size: number): Uint8Array;
  close(): void;
}

function openSource(path: string): ByteSource {
  const file = openSync(path, "r");
  return {
    sizeBytes: fstatSync(file).size,
    read(offset, size) {
      const bytes = new Uint8Array(size);
      for (let done = 0; done < size; ) {
        const read = readSync(file, bytes, done, size - done, offset + done);
        if (read === 0) return bytes.subarray(0, done);
        done += read;
      }
      return bytes;
    },
    close: () => closeSync(file),
  };
}

/** A snapshot on this machine. Frames are read one after the other, each of which is checked before anything is done with it. */
export class SnapshotFile {
  readonly sizeBytes: number;
  readonly #source: ByteSource;

  private constructor(source: ByteSource) {
    this.#source = source;
    this.sizeBytes = source.sizeBytes;
  }

  /** @throws errors of the file system */
  static open(path: string): SnapshotFile {
    return new SnapshotFile(openSource(path));
  }

  static ofBytes(bytes: Uint8Array): SnapshotFile {
    const read = (offset: number, size: number): Uint8Array => bytes.subarray(offset, offset + size);
    return new SnapshotFile({ sizeBytes: bytes.length, read, close: () => {} });
  }

  #read(offset: number, size: number): Uint8Array {
    const bytes = this.#source.read(offset, size);
    if (bytes.length < size) throw snapshotError("snapshot/damaged", { offset, reason: "the file ends here" });
    return bytes;
  }

  #frameHeaderAt(offset: number): { readonly bytes: Uint8Array; readonly header: FrameHeader } {
    const isWhole = (size: number): boolean => offset + size <= this.sizeBytes;
    if (!isWhole(FRAME_HEADER_BYTES)) throw snapshotError("snapshot/damaged", { offset, reason: "the file ends here" });
    const bytes = this.#read(offset, FRAME_HEADER_BYTES);
    const header = decodeFrameHeader(bytes, offset);
    if (!isWhole(FRAME_HEADER_BYTES + header.payloadBytes)) {
      throw snapshotError("snapshot/damaged", { offset, reason: "the file ends within a frame" });
    }
    return { bytes, header };
  }

  /**
   * All frames up to the end, after which there must be nothing.
   *
   * @throws {CodedError} snapshot/no-snapshot, snapshot/newer-format, snapshot/damaged
   */
  *frames(): Generator<CheckedFrame, Uint8Array> {
    if (this.sizeBytes < START_BYTES) throw snapshotError("snapshot/no-snapshot");
    const start = this.#read(0, START_BYTES);
    checkFileStart(start);
    const chain = new ChecksumChain();
    for (let offset = START_BYTES; ; ) {
      const { bytes, header } = this.#frameHeaderAt(offset);
      const payload = this.#read(offset + FRAME_HEADER_BYTES, header.payloadBytes);
      checkFrame(bytes, payload, chain, offset);
      const end = offset + FRAME_HEADER_BYTES + header.payloadBytes;
      yield { kind: header.kind, offset, end, contentBytes: header.contentBytes, payload, checksum: chain.last };
      if (header.kind === "end") {
        if (end !== this.sizeBytes) throw snapshotError("snapshot/damaged", { offset: end, reason: "something follows its end" });
        return chain.last;
      }
      offset = end;
    }
  }

  /** The content of a checked frame. PERF: its checksum is not computed again, but its content is checked. */
  contentAt(offset: number): Uint8Array {
    const { header } = this.#frameHeaderAt(offset);
    return unpackSync(this.#read(offset + FRAME_HEADER_BYTES, header.payloadBytes), header.contentBytes, offset);
  }

  close(): void {
    this.#source.close();
  }
}

export const contentOf = ({ payload, contentBytes, offset }: CheckedFrame): Promise<Uint8Array> =>
  unpack(payload, contentBytes, offset);

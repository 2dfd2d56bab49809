import { closeSync, constants, fsyncSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { type DownloadOptions, downloadError, resumableBody } from "@rnode/download";
import { concatBytes, isCodedError } from "@rnode/primitives";
import { assertRoom, roomAt } from "../disk-reserve.ts";
import { snapshotError } from "../errors.ts";
import { ChecksumChain, checkFileStart, checkFrame, decodeFrameHeader, FRAME_HEADER_BYTES, START_BYTES } from "../format/frames.ts";
import { unpackSync } from "../format/packing.ts";
import { ArrivalChecks } from "../read/arrival-checks.ts";
import type { SnapshotExpectation } from "../read/load-snapshot.ts";
import { SnapshotFile } from "../read/snapshot-file.ts";

export interface SnapshotDownload extends Pick<DownloadOptions, "idleMs" | "maxFailures" | "firstWaitMs" | "onRetry" | "signal"> {
  /** Default: the size that the server states. The free space of the disk, without the reserve, limits both. */
  readonly maxBytes?: number | undefined;
  /** kept free on the disk; default: 1 GiB */
  readonly reserveBytes?: number | undefined;
  /** The manifest and the blocks are checked as they arrive. The state has no order that its root could be checked in. */
  readonly expected?: SnapshotExpectation | undefined;
  /** @param totalBytes `undefined`: the server does not state it */
  readonly onProgress?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined;
}

/**
 * Downloads a snapshot into a file. Only frames with a valid checksum are written, so a later call resumes after the last
 * complete frame.
 *
 * @returns whether it resumed
 * @throws {CodedError} download/*, snapshot/*
 */
export async function downloadSnapshot(url: string, path: string, options: SnapshotDownload = {}): Promise<boolean> {
  const folder = dirname(path);
  const file = new PartialSnapshot(path, options.expected);
  try {
    const found = file.recover();
    const maxBytes = Math.min(options.maxBytes ?? Number.POSITIVE_INFINITY, file.offset + roomAt(folder, options.reserveBytes));
    let damagedAt: number | undefined;
    let isAnew = false;
    while (!file.isComplete) {
      let totalBytes: number | undefined;
      const onTotal = (bytes: number): void => {
        totalBytes = bytes;
      };
      try {
        for await (const bytes of resumableBody(url, { ...options, maxBytes, from: file.offset, onTotal })) {
          if (totalBytes === undefined && options.maxBytes === undefined) {
            const reason = "the server does not say its size: allow a size with --max-size";
            throw downloadError("download/too-large", { url, reason });
          }
          if (file.append(bytes)) assertRoom(folder, options.reserveBytes);
          options.onProgress?.(file.offset, totalBytes);
        }
        file.assertComplete();
      } catch (error) {
        if (!isCodedError(error, "snapshot/damaged")) throw error;
        file.dropIncomplete();
        const isAgain = damagedAt === file.offset;
        damagedAt = file.offset;
        if (!isAgain) continue; // bytes were altered on the way
        // The existing part can be of another file, which this one does not continue.
        if (isAnew || !found) throw error;
        isAnew = true;
        file.clear();
      }
    }
    return found && !isAnew;
  } finally {
    file.close();
  }
}

/** A snapshot whose end is not there yet. */
class PartialSnapshot {
  readonly #path: string;
  readonly #expected: SnapshotExpectation | undefined;
  #checks: ArrivalChecks | undefined;
  readonly #file: number;
  /** position after the last frame that was written */
  offset = 0;
  isComplete = false;
  #chain: ChecksumChain | undefined;
  /** the received part of the next frame */
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  constructor(path: string, expected: SnapshotExpectation | undefined) {
    this.#path = path;
    this.#expected = expected;
    this.#resetChecks();
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o644);
  }

  /** Finds the whole frames that are there, and drops the rest. @returns whether there are any */
  recover(): boolean {
    const file = SnapshotFile.open(this.#path);
    try {
      for (const { kind, end, payload, contentBytes, offset, checksum } of file.frames()) {
        this.#checks?.take(kind, () => unpackSync(payload, contentBytes, offset));
        this.offset = end;
        this.#chain = new ChecksumChain(checksum);
        this.isComplete = kind === "end";
      }
    } catch (error) {
      if (!isCodedError(error, "snapshot/damaged") && !isCodedError(error, "snapshot/no-snapshot")) throw error;
      // no more frames, or what follows the end is removed
    } finally {
      file.close();
    }
    ftruncateSync(this.#file, this.offset);
    return this.offset > 0;
  }

  #resetChecks(): void {
    this.#checks = this.#expected && new ArrivalChecks(this.#expected);
  }

  /** @returns whether something was written */
  append(bytes: Uint8Array): boolean {
    const before = this.offset;
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    while (this.#takeFrame());
    return this.offset > before;
  }

  /** Writes the next frame, if all of it is there. */
  #takeFrame(): boolean {
    if (this.#chain === undefined) {
      if (this.#bytes < START_BYTES) return false;
      const start = this.#take(START_BYTES);
      checkFileStart(start);
      this.#chain = new ChecksumChain();
      this.#write(start);
      return true;
    }
    if (this.isComplete && this.#bytes > 0) {
      throw snapshotError("snapshot/damaged", { offset: this.offset, reason: "something follows its end" });
    }
    if (this.#bytes < FRAME_HEADER_BYTES) return false;
    const header = decodeFrameHeader(this.#peek(FRAME_HEADER_BYTES), this.offset);
    const size = FRAME_HEADER_BYTES + header.payloadBytes;
    if (this.#bytes < size) return false;
    const frame = this.#take(size);
    const payload = frame.subarray(FRAME_HEADER_BYTES);
    const before = new ChecksumChain(this.#chain.last);
    try {
      checkFrame(frame, payload, this.#chain, this.offset);
    } catch (error) {
      this.#chain = before;
      throw error;
    }
    this.#checks?.take(header.kind, () => unpackSync(payload, header.contentBytes, this.offset));
    this.#write(frame);
    this.isComplete = header.kind === "end";
    if (this.isComplete) fsyncSync(this.#file);
    return true;
  }

  /** @throws {CodedError} snapshot/damaged: everything was read, but there is no end */
  assertComplete(): void {
    if (!this.isComplete) throw snapshotError("snapshot/damaged", { offset: this.offset, reason: "the file ends here" });
  }

  dropIncomplete(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }

  clear(): void {
    this.dropIncomplete();
    ftruncateSync(this.#file, 0);
    this.offset = 0;
    this.#chain = undefined;
    this.isComplete = false;
    this.#resetChecks();
  }

  #peek(size: number): Uint8Array {
    if (this.#pieces[0]!.length < size) this.#pieces = [concatBytes(...this.#pieces)];
    return this.#pieces[0]!.subarray(0, size);
  }

  #take(size: number): Uint8Array {
    const all = this.#pieces.length === 1 ? this.#pieces[0]! : concatBytes(...this.#pieces);
    this.#pieces = all.length === size ? [] : [all.subarray(size)];
    this.#bytes = all.length - size;
    return all.subarray(0, size);
  }

  #write(bytes: Uint8Array): void {
    for (let done = 0; done < bytes.length; ) {
      done += writeSync(this.#file, bytes, done, bytes.length - done, this.offset + done);
    }
    this.offset += bytes.length;
  }

  close(): void {
    closeSync(this.#file);
  }
}

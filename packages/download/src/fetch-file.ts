import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { isCodedError } from "@rnode/primitives";
import { downloadError } from "./errors.ts";
import { type DownloadOptions, resumableBody } from "./resumable-body.ts";

export interface FetchOptions extends Omit<DownloadOptions, "from"> {
  /** What is wrong with the content; `undefined`: it is the expected file. */
  readonly check: (bytes: Uint8Array) => string | undefined;
  /** @param totalBytes undefined: the server does not say */
  readonly onProgress?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined;
}

const PARTIAL_SUFFIX = ".part";

/**
 * Downloads a file that fits into memory to `path`, whose folders are made. What an interrupted download left in `path`.part is resumed. The
 * file is checked as a whole and appears at once, so that neither a kill nor another process at the same path leaves a wrong one.
 *
 * @throws {CodedError} download/failed, download/not-found, download/replaced, download/wrong-content; errors of the file system; the signal's reason
 */
export async function fetchFile(url: string, path: string, options: FetchOptions): Promise<Uint8Array> {
  mkdirSync(dirname(path), { recursive: true });
  const partial = `${path}${PARTIAL_SUFFIX}`;
  for (let isFirst = true; ; isFirst = false) {
    const isResumed = isFirst && isWithin(partial, options.maxBytes);
    try {
      const bytes = await download(url, partial, isResumed, options);
      const fault = options.check(bytes);
      if (fault !== undefined) throw downloadError("download/wrong-content", { url, reason: fault });
      writeAtomically(path, bytes);
      rmSync(partial, { force: true });
      return bytes;
    } catch (error) {
      const isReplaced = isCodedError(error, "download/replaced");
      const isWrong = isCodedError(error, "download/wrong-content");
      if (!isReplaced && !isWrong) throw error;
      rmSync(partial, { force: true });
      // What was there before may be of another file, or damaged: the file is downloaded once more from its beginning.
      if (!isFirst || !(isReplaced || isResumed)) throw error;
    }
  }
}

function isWithin(path: string, maxBytes: number): boolean {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return size > 0 && size <= maxBytes;
}

async function download(url: string, partial: string, isResumed: boolean, options: FetchOptions): Promise<Uint8Array> {
  const file = openSync(partial, isResumed ? "r+" : "w", 0o644);
  try {
    const pieces: Uint8Array[] = isResumed ? [readFileSync(partial)] : [];
    let size = pieces[0]?.length ?? 0;
    let total: number | undefined;
    const onTotal = (bytes: number): void => {
      total = bytes;
      options.onTotal?.(bytes);
    };
    for await (const piece of resumableBody(url, { ...options, from: size, onTotal })) {
      writeAll(file, piece, size);
      pieces.push(piece);
      size += piece.length;
      options.onProgress?.(size, total);
    }
    return Buffer.concat(pieces);
  } finally {
    closeSync(file);
  }
}

function writeAll(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done, bytes.length - done, position + done);
}

/** Writes a file that other processes see whole or not at all. */
export function writeAtomically(path: string, bytes: Uint8Array): void {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
  try {
    const file = openSync(draft, "wx", 0o644);
    try {
      writeAll(file, bytes, 0);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

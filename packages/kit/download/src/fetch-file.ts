import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { errorCauses } from "./error-causes.ts";
import { downloadError } from "./errors.ts";
import { type DownloadOptions, resumableBody } from "./resumable-body.ts";

export interface FetchOptions extends Omit<DownloadOptions, "from"> {
  /** Converts the bytes to the stored content; an error makes them invalid. Default: the bytes themselves. */
  readonly content?: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** The error in the content; `undefined`: it is the expected file. */
  readonly check: (content: Uint8Array) => string | undefined;
  /** @param totalBytes `undefined`: the server does not state it */
  readonly onProgress?: ((doneBytes: number, totalBytes: number | undefined) => void) | undefined;
}

const PARTIAL_SUFFIX = ".part";

/**
 * Downloads a file that fits into memory to `path`, whose folders are made. What an interrupted download left in `path`.part is resumed. The
 * file is checked as a whole and appears at once, so that neither a kill nor another process at the same path leaves a wrong one.
 *
 * @returns its content
 * @throws {CodedError} download/*; errors of the file system; the signal's reason
 */
export async function fetchFile(url: string, path: string, options: FetchOptions): Promise<Uint8Array> {
  const partial = `${path}${PARTIAL_SUFFIX}`;
  for (let isFirst = true; ; isFirst = false) {
    const kept = isFirst ? readPartial(partial, options.maxBytes) : undefined;
    try {
      const content = checked(url, await download(url, partial, kept, options), options);
      writeAtomically(path, content);
      rmSync(partial, { force: true });
      return content;
    } catch (error) {
      const isReplaced = isCodedError(error, "download/replaced");
      const isWrong = isCodedError(error, "download/wrong-content") || isCodedError(error, "download/too-large");
      if (!isReplaced && !isWrong) throw error;
      rmSync(partial, { force: true });
      // The existing part may be of another file, or damaged: the file is downloaded again from the start.
      if (!isFirst || !(isReplaced || kept !== undefined)) throw error;
    }
  }
}

/**
 * The same for a local file.
 *
 * @param bytes `undefined`: there is no such file
 * @throws {CodedError} download/not-found, download/wrong-content; errors of the file system
 */
export function keepCopy(
  from: string,
  bytes: Uint8Array | undefined,
  path: string,
  options: Pick<FetchOptions, "content" | "check">,
): Uint8Array {
  if (bytes === undefined) throw downloadError("download/not-found", { url: from, reason: "no such file" });
  const content = checked(from, bytes, options);
  mkdirSync(dirname(path), { recursive: true });
  writeAtomically(path, content);
  return content;
}

function checked(url: string, bytes: Uint8Array, options: Pick<FetchOptions, "content" | "check">): Uint8Array {
  let content = bytes;
  try {
    content = options.content?.(bytes) ?? bytes;
  } catch (cause) {
    throw downloadError("download/wrong-content", { url, reason: errorCauses(cause) }, { cause });
  }
  const fault = options.check(content);
  if (fault !== undefined) throw downloadError("download/wrong-content", { url, reason: fault });
  return content;
}

/** @returns `undefined`: no file, or too large */
function readPartial(path: string, maxBytes: number): Uint8Array | undefined {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return size > 0 && size <= maxBytes ? ifThere(() => readFileSync(path)) : undefined;
}

async function download(url: string, partial: string, kept: Uint8Array | undefined, options: FetchOptions): Promise<Uint8Array> {
  let file: number | undefined; // not before there is something to write
  try {
    const pieces: Uint8Array[] = kept === undefined ? [] : [kept];
    let size = kept?.length ?? 0;
    let total: number | undefined;
    const onTotal = (bytes: number): void => {
      total = bytes;
      options.onTotal?.(bytes);
    };
    for await (const piece of resumableBody(url, { ...options, from: size, onTotal })) {
      file ??= openPartial(partial, kept);
      writeAll(file, piece, size);
      pieces.push(piece);
      size += piece.length;
      options.onProgress?.(size, total);
    }
    mkdirSync(dirname(partial), { recursive: true });
    return Buffer.concat(pieces);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function openPartial(path: string, kept: Uint8Array | undefined): number {
  mkdirSync(dirname(path), { recursive: true });
  const before = kept && ifThere(() => openSync(path, "r+"));
  if (before !== undefined) return before;
  const file = openSync(path, "w", 0o644);
  if (kept !== undefined) writeAll(file, kept, 0);
  return file;
}

/** Another process at the same path removes its partial file once it has the whole one. */
function ifThere<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isSystemError(error, "ENOENT")) return undefined;
    throw error;
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

import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { resumableBody } from "@rnode/download";
import { isCodedError } from "@rnode/primitives";
import { UserError } from "@rnode/program";

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;
export const isUrl = (source: string): boolean => /^https?:\/\//.test(source);

/** The content of a file or an http(s) URL, decompressed if it is gzip. @throws {UserError} */
async function readInput(source: string): Promise<Uint8Array> {
  const bytes = isUrl(source) ? await download(source) : await readFileOf(source);
  if (!isGzip(bytes)) return bytes;
  try {
    return gunzipSync(bytes);
  } catch (cause) {
    throw new UserError(`${source}: broken gzip data`, { cause });
  }
}

/** A JSON document from a file or URL. @throws {UserError} naming the source */
export async function readJson(source: string): Promise<unknown> {
  const bytes = await readInput(source);
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch (cause) {
    throw new UserError(`${source}: not JSON: ${(cause as Error).message}`, { cause });
  }
}

async function readFileOf(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw fileError(path, cause);
  }
}

/** @param cause the error from trying to read the file */
export function fileError(path: string, cause: unknown): UserError {
  const { code } = cause as NodeJS.ErrnoException;
  const problem = code === "ENOENT" ? "no such file" : code === "EISDIR" ? "is a folder, not a file" : String(code);
  return new UserError(`${path}: ${problem}`, { cause });
}

/** Of a file from a URL. */
const MAX_DOWNLOAD_BYTES = 1 << 30;
const MAX_FAILURES = 4;

/**
 * The bytes behind a URL. After a broken connection, the download continues.
 *
 * @param onTotal gets their number, if the server says it
 * @throws {UserError} naming the URL
 */
export async function* downloadPieces(
  url: string,
  maxBytes = MAX_DOWNLOAD_BYTES,
  onTotal?: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* resumableBody(url, { maxBytes, maxFailures: MAX_FAILURES, onTotal });
  } catch (cause) {
    if (!isCodedError(cause, "download/")) throw cause;
    throw new UserError(`${url}: cannot be read: ${String(cause.data.reason)}`, { cause });
  }
}

/** @throws {UserError} naming the URL */
export async function download(url: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of downloadPieces(url)) pieces.push(piece);
  return Buffer.concat(pieces);
}

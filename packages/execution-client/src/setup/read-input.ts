import { readFile } from "node:fs/promises";
import { gunzipSync } from "node:zlib";
import { UserError } from "@rnode/program";

export const isGzip = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;
export const isUrl = (source: string): boolean => /^https?:\/\//.test(source);
const FETCH_TIMEOUT_MS = 60_000;

/** The content of a file or an http(s) URL, decompressed if it is gzip. @throws {UserError} */
export async function readInput(source: string): Promise<Uint8Array> {
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

/** @throws {UserError} naming the URL */
export async function download(url: string): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
    if (!response.ok) throw new UserError(`${url}: HTTP status ${response.status}`);
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(`${url}: cannot be read: ${(cause as Error).message}`, { cause });
  }
}

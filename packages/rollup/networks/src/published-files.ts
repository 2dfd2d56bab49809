import { join } from "node:path";
import { type FetchOptions, fetchFile, keepCopy } from "@rnode/download";
import { isCodedError } from "@rnode/primitives";
import { readBounded } from "./registry-folder.ts";

/** A file that the OP Stack's maintainers publish in one of their repositories on GitHub. */
export interface PublishedFile {
  /** `owner/name` */
  readonly repository: string;
  /** commits, tags or branches with the file; the second is a fallback */
  readonly refs: readonly [string, ...string[]];
  /** within the repository, and within a mirror */
  readonly path: string;
  readonly maxBytes: number;
}

export type PublishedOptions = Omit<FetchOptions, "maxBytes">;

/** In a row: half a minute of a server that is not there. Later attempts are for the caller. */
const MAX_FAILURES = 5;

/**
 * Addresses of a published file, in the order of requests.
 *
 * @param registry URL or folder of a mirror with the repositories' paths, which is then the only source. `undefined`: GitHub
 */
export function placesOf({ repository, refs, path }: PublishedFile, registry: string | undefined): readonly string[] {
  if (registry === undefined) return refs.map((ref) => `https://raw.githubusercontent.com/${repository}/${ref}/${path}`);
  return [isUrl(registry) ? `${registry.replace(/\/+$/, "")}/${path}` : join(registry, path)];
}

/**
 * Downloads a published file to `to`, unless the file exists.
 *
 * @returns its content as in `options.content`, and the address
 * @throws {CodedError} download/*, registry/*; errors of the file system
 */
export async function fetchPublished(
  file: PublishedFile,
  to: string,
  registry: string | undefined,
  options: PublishedOptions,
): Promise<{ readonly bytes: Uint8Array; readonly from: string }> {
  const { maxBytes } = file;
  const maxFailures = options.maxFailures ?? MAX_FAILURES;
  const places = placesOf(file, registry);
  for (const [at, from] of places.entries()) {
    try {
      const bytes = isUrl(from)
        ? await fetchFile(from, to, { ...options, maxBytes, maxFailures })
        : keepCopy(from, await readBounded(from, maxBytes), to, options);
      return { bytes, from };
    } catch (error) {
      if (!isCodedError(error, "download/not-found") || at === places.length - 1) throw error;
    }
  }
  throw new Error("a file without a place");
}

export const isUrl = (place: string): boolean => /^https?:\/\//i.test(place);

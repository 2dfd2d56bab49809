import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fetchPublished, isUrl, PUBLISHED_DICTIONARY, type PublishedFile, placesOf, publishedGenesis } from "@rnode/networks";
import { isCodedError, isSystemError } from "@rnode/primitives";
import { UserError } from "@rnode/program";
import type { Network } from "@rnode/protocol";
import { type GenesisFile, openGenesisFile } from "./genesis-file.ts";
import { frameHeader, isDictionary, isZstd } from "./zstd.ts";

/** How a genesis that the operator does not provide is had. */
export interface GenesisFetch {
  /** the files are kept in it */
  readonly datadir: string;
  /** mirror; undefined: where the registry publishes them */
  readonly registry: string | undefined;
  readonly offline: boolean;
  /** @param totalBytes undefined: not known (yet) */
  readonly onProgress: (url: string, doneBytes: number, totalBytes: number | undefined) => void;
  readonly onRetry: (url: string, reason: string, waitMs: number) => void;
}

/** The file could not be fetched; an earlier file stays. */
export class FetchFailure extends UserError {}

/** Within the data folder. */
const FOLDER = "genesis";

/** The genesis file of a network, fetched into the data folder. */
export class PublishedGenesis {
  readonly #network: Network;
  readonly #fetch: GenesisFetch;
  readonly #file: PublishedFile;
  readonly #path: string;
  /** whether the files were there before */
  isKept = true;

  constructor(network: Network, fetch: GenesisFetch) {
    this.#network = network;
    this.#fetch = fetch;
    this.#file = publishedGenesis(network.path);
    this.#path = join(fetch.datadir, FOLDER, this.#file.path.split("/").at(-1)!);
  }

  /** @throws {UserError} */
  async open(): Promise<GenesisFile> {
    this.isKept = true;
    await this.#have(this.#file, this.#path, (bytes) => (isZstd(bytes) ? undefined : "it is no Zstandard data"));
    const id = frameHeader(this.#path, readFileSync(this.#path)).dictionaryId;
    if (id !== 0) {
      const isTheOne = (bytes: Uint8Array) =>
        isDictionary(bytes, id) ? undefined : `it is not the dictionary ${id}, which the genesis needs`;
      await this.#have(PUBLISHED_DICTIONARY, this.#dictionary, isTheOne);
    }
    return await openGenesisFile(this.#path);
  }

  get #dictionary(): string {
    return join(this.#fetch.datadir, FOLDER, "dictionary");
  }

  /** Removes files that turned out to be wrong. */
  drop(): void {
    for (const path of [this.#path, this.#dictionary]) rmSync(path, { force: true });
  }

  /** Where the file is published, for errors. */
  get places(): string {
    return placesOf(this.#file, this.#fetch.registry).join(" or ");
  }

  async #have(file: PublishedFile, path: string, check: (bytes: Uint8Array) => string | undefined): Promise<void> {
    if (existsSync(path)) {
      if (check(readFileSync(path)) === undefined) return;
      rmSync(path, { force: true });
    }
    const { name, genesis } = this.#network;
    const { registry, offline, onProgress, onRetry } = this.#fetch;
    const needs = `${name} needs ${file.path} of the superchain registry (genesis block ${genesis.l2.hash})`;
    if (offline && (registry === undefined || isUrl(registry)))
      throw new FetchFailure(
        `${needs}, and --offline forbids to fetch it: give the genesis with --genesis=FILE, or a folder with --registry`,
      );
    this.isKept = false;
    const [url] = placesOf(file, registry);
    onProgress(url!, 0, undefined);
    try {
      await fetchPublished(file, path, registry, {
        check,
        onProgress: (done, total) => onProgress(url!, done, total),
        onRetry: (reason, waitMs) => onRetry(url!, reason, waitMs),
      });
    } catch (cause) {
      if (!isCodedError(cause) && !isSystemError(cause)) throw cause;
      if (isCodedError(cause, "download/wrong-content")) this.drop(); // the genesis may name a dictionary that there never was
      throw new FetchFailure(
        `${needs}, which cannot be had: ${cause.message}; give the genesis with --genesis=FILE|URL, or a mirror with --registry`,
        { cause },
      );
    }
  }
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { errorCauses } from "@rnode/download";
import type { Logger } from "@rnode/observe";
import { Backoff, bytesToHex, type Clock, codedErrors, isCodedError } from "@rnode/primitives";
import { type UpgradeArtifact, type UpgradeArtifactSource, upgradeArtifactsFromFiles } from "@rnode/protocol";
import { fetchPublished, isUrl, type PublishedFile, type PublishedOptions, placesOf } from "./published-files.ts";

/** The largest have about 350 KB. */
const MAX_FILE_BYTES = 4 << 20;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 10 * 60_000;

const SPECS = { repository: "ethereum-optimism/specs", refs: ["main"] } as const;
const OPTIMISM = { repository: "ethereum-optimism/optimism", refs: ["v1.19.6", "develop"] } as const;
/** The last state of the registry that had contracts' bytecode. */
const OLD_REGISTRY = {
  repository: "ethereum-optimism/superchain-registry",
  refs: ["8a45400fa7a7bd3dbb57f8696cff87f57376e46f"],
} as const;

/** Where a file of the table of upgrades is published. */
export function publishedUpgrade({ file, hash, hashFunction, release }: UpgradeArtifact): PublishedFile {
  const maxBytes = MAX_FILE_BYTES;
  if (hashFunction === "sha256") {
    const refs = release === undefined ? OPTIMISM.refs : ([`refs/tags/${release}`] as const);
    return { ...OPTIMISM, refs, path: `op-core/nuts/bundles/${file}`, maxBytes };
  }
  if (file === CREATE2_DEPLOYER_FILE) return { ...OLD_REGISTRY, path: `superchain/extra/bytecodes/${hash}.bin.gz`, maxBytes };
  return { ...SPECS, path: `specs/static/bytecode/${file}`, maxBytes };
}

/** Runtime code, which the specification's repository does not have. */
const CREATE2_DEPLOYER_FILE = "canyon-create2deployer.txt";

export interface UpgradeFilesDeps {
  /** where files are kept; made when the first one comes */
  readonly folder: string;
  /** mirror; `undefined`: where the files are published */
  readonly registry: string | undefined;
  /** Whether only a folder may be read. */
  readonly offline: boolean;
  readonly log: Logger;
  readonly clock: Pick<Clock, "sleep">;
  /** limits of a download, for tests */
  readonly download?: Pick<PublishedOptions, "idleMs" | "maxFailures" | "firstWaitMs"> | undefined;
}

export type UpgradeFilesErrorCode = "upgrade-files/not-here-yet";

export class UpgradeFilesError extends codedErrors<UpgradeFilesErrorCode>({
  "upgrade-files/not-here-yet":
    "the network upgrade needs {file}, which is not in {folder} yet ({reason}); it is published at {place}, and can be put into that folder by hand",
}) {}

/** The files of network upgrades that a chain needs, fetched once into a folder and checked against the hashes of the table. */
export class UpgradeFiles {
  readonly #deps: UpgradeFilesDeps;
  readonly #ending = new AbortController();
  readonly #failures = new Map<string, string>();
  readonly #pending = new Map<string, Promise<void>>();
  #known: UpgradeArtifactSource | undefined;

  constructor(deps: UpgradeFilesDeps) {
    this.#deps = deps;
  }

  /**
   * The bytes of a stored file. If the file is missing, it is fetched in the background.
   *
   * @returns undefined: the file is missing, and fetching is disabled
   * @throws {CodedError} upgrade-files/not-here-yet: a later call may succeed
   */
  readonly source: UpgradeArtifactSource = (hash, artifact) => {
    const bytes = this.#find(artifact);
    if (bytes !== undefined) return bytes;
    if (!this.#mayFetch) return undefined;
    this.want([artifact]);
    const data = {
      file: artifact.file,
      [artifact.hashFunction]: hash,
      place: placesOf(publishedUpgrade(artifact), this.#deps.registry).join(" or "),
      folder: this.#deps.folder,
      reason: this.#failures.get(hash) ?? "it is being fetched",
    };
    throw new UpgradeFilesError("upgrade-files/not-here-yet", data);
  };

  /** Fetches those that are not there, until they are. */
  want(artifacts: Iterable<UpgradeArtifact>): void {
    if (!this.#mayFetch) return;
    for (const artifact of artifacts) {
      if (this.#pending.has(artifact.hash) || this.#find(artifact) !== undefined) continue;
      this.#pending.set(
        artifact.hash,
        this.#fetchUntilHere(artifact).finally(() => this.#pending.delete(artifact.hash)),
      );
    }
  }

  get #mayFetch(): boolean {
    const { offline, registry } = this.#deps;
    return !offline || (registry !== undefined && !isUrl(registry));
  }

  /** Resolves when nothing is being fetched. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending.values());
  }

  async close(): Promise<void> {
    this.#ending.abort(new Error("the program ends"));
    await this.settled();
  }

  #find(artifact: UpgradeArtifact): Uint8Array | undefined {
    const known = this.#known?.(artifact.hash, artifact);
    if (known !== undefined) return known;
    let content: Uint8Array;
    try {
      content = readFileSync(join(this.#deps.folder, artifact.file));
    } catch {
      return undefined;
    }
    const found = sourceOf(artifact, content);
    if (found?.(artifact.hash, artifact) === undefined) return undefined;
    const before = this.#known;
    this.#known = (hash, wanted) => found(hash, wanted) ?? before?.(hash, wanted);
    return this.#known(artifact.hash, artifact);
  }

  async #fetchUntilHere(artifact: UpgradeArtifact): Promise<void> {
    const { log, clock } = this.#deps;
    const { file, hash } = artifact;
    const backoff = new Backoff({ firstMs: FIRST_PAUSE_MS, maxMs: LONGEST_PAUSE_MS });
    while (!this.#ending.signal.aborted) {
      try {
        const from = await this.#fetch(artifact);
        this.#failures.delete(hash);
        log.info("fetched a file of a network upgrade", { file, from, folder: this.#deps.folder });
        return;
      } catch (error) {
        if (this.#ending.signal.aborted) return;
        const reason = isCodedError(error) ? error.message : errorCauses(error);
        this.#failures.set(hash, reason);
        const pauseMs = backoff.nextMs();
        log.warn("a file of a network upgrade cannot be fetched: put it into the folder by hand, or wait", {
          file,
          [artifact.hashFunction]: hash,
          folder: this.#deps.folder,
          retryMs: pauseMs,
          reason,
          place: placesOf(publishedUpgrade(artifact), this.#deps.registry).join(" or "),
        });
        await clock.sleep(pauseMs, this.#ending.signal);
        if (this.#find(artifact) !== undefined) return; // an operator was faster
      }
    }
  }

  async #fetch(artifact: UpgradeArtifact): Promise<string> {
    const { folder, registry, download } = this.#deps;
    const published = publishedUpgrade(artifact);
    const content = (bytes: Uint8Array): Uint8Array => (published.path.endsWith(".gz") ? asHexText(bytes) : bytes);
    const { from } = await fetchPublished(published, join(folder, artifact.file), registry, {
      ...download,
      content,
      check: (bytes) => (sourceOf(artifact, bytes)?.(artifact.hash, artifact) === undefined ? otherHash(artifact) : undefined),
      signal: this.#ending.signal,
    });
    return from;
  }
}

const otherHash = ({ hashFunction, hash }: UpgradeArtifact): string => `its ${hashFunction} is not ${hash}`;

const asHexText = (packed: Uint8Array): Uint8Array =>
  new TextEncoder().encode(bytesToHex(gunzipSync(packed, { maxOutputLength: MAX_FILE_BYTES })));

/** @returns `undefined` if the content is no file of its kind */
function sourceOf({ file }: UpgradeArtifact, content: Uint8Array): UpgradeArtifactSource | undefined {
  try {
    return upgradeArtifactsFromFiles([{ name: file, content }]);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return undefined;
  }
}

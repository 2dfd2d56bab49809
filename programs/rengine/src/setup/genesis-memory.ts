import { createHash } from "node:crypto";
import { readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { bytesToHex, hexToBytes } from "@rnode/primitives";
import { makeFolder, systemClock } from "@rnode/program";

/** The facts of a genesis file that a start needs. */
export interface GenesisFacts {
  /** everything but the allocations */
  readonly fields: Readonly<Record<string, unknown>>;
  /** SHA-256 of the file's bytes */
  readonly digest: Uint8Array;
}

/** A smaller file is read in a moment. */
const MIN_BYTES = 4 << 20;
/** If the rest of a file, without its allocations, is larger than this, the file is not recorded. */
const MAX_RECORD_LENGTH = 1 << 20;
/** A file changed less than this before it was read may change again without a new time. */
const SETTLED_MS = 100;
const FILE = "genesis-file.json";
const VERSION = 1;

/** Identifies the content of a file, unless the system's clock is set back. */
export interface FileIdentity {
  readonly text: string;
  readonly isSettled: boolean;
}

/**
 * Records the facts of a large genesis file in the data folder, so that a start need not read it: the same size, inode and times
 * mean the same content. The record is a cache: if it is missing or damaged, the file is read.
 */
export class GenesisMemory {
  readonly #folder: string;

  /** @param datadir need not exist */
  constructor(datadir: string) {
    this.#folder = datadir;
  }

  /** Undefined: there is no such file, or it is too small to be recorded. */
  identify(source: string): FileIdentity | undefined {
    try {
      const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = statSync(source, { bigint: true });
      if (size < MIN_BYTES) return undefined;
      const changedMs = Number(mtimeMs > ctimeMs ? mtimeMs : ctimeMs);
      const text = [VERSION, resolve(source), dev, ino, size, mtimeNs, ctimeNs].join(" ");
      return { text, isSettled: systemClock.unixMs() - changedMs > SETTLED_MS };
    } catch {
      return undefined; // reading it will tell
    }
  }

  recall({ text }: FileIdentity): GenesisFacts | undefined {
    try {
      const record = JSON.parse(readFileSync(join(this.#folder, FILE), "utf8")) as Readonly<Record<string, unknown>>;
      const { identity, digest, fields, check } = record;
      if (identity !== text || typeof digest !== "string" || typeof fields !== "object" || fields === null) return undefined;
      if (check !== checkOf(text, digest, fields)) return undefined;
      return { fields: fields as Record<string, unknown>, digest: hexToBytes(digest) };
    } catch {
      return undefined;
    }
  }

  /** @param identity from before the file was read */
  remember(source: string, identity: FileIdentity, { fields, digest }: GenesisFacts): void {
    if (!identity.isSettled || this.identify(source)?.text !== identity.text) return;
    const digestHex = bytesToHex(digest);
    const record = { identity: identity.text, digest: digestHex, fields, check: checkOf(identity.text, digestHex, fields) };
    const text = JSON.stringify(record);
    if (text.length > MAX_RECORD_LENGTH) return;
    try {
      makeFolder(this.#folder);
      const path = join(this.#folder, FILE);
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    } catch {
      // The next start reads the file again; whatever is wrong with the folder, opening the database tells.
    }
  }
}

const checkOf = (identity: string, digest: string, fields: object): string =>
  createHash("sha256")
    .update(`${identity} ${digest} ${JSON.stringify(fields)}`)
    .digest("hex");

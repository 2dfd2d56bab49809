import { randomBytes } from "node:crypto";
import { closeSync, openSync, readSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CodedError, hexToBytes, isPrivateKey, isSystemError } from "@rnode/primitives";
import { makeFolder } from "@rnode/program";

/** An error of a key file, as a sentence. */
export class KeyFileError extends CodedError<"peering/bad-key-file"> {
  constructor(text: string, options?: ErrorOptions) {
    super("peering/bad-key-file", {}, options);
    this.message = text;
  }
}

/** Digits, `0x` and white space. A device or a large file given by mistake is not read to its end. */
const MAX_FILE_BYTES = 1_024;

/**
 * Reads the key that is this node's identity on the network, or makes one. The file holds 64 hex digits; one that is made can be read by
 * its owner only.
 *
 * @throws {KeyFileError}
 */
export function readOrCreateNetworkKey(path: string): { readonly key: Uint8Array; readonly isNew: boolean } {
  const text = readIfThere(path);
  if (text === undefined) return { key: createKey(path), isNew: true };
  const digits = text.trim().replace(/^0x/i, "");
  const bad = (what: string): KeyFileError =>
    new KeyFileError(`${path} ${what}: expected 64 hex digits; without a file there, a key is made`);
  if (digits === "") throw bad("is empty");
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw bad(`holds no key (${digits.length} characters)`);
  const key = hexToBytes(digits);
  if (!isPrivateKey(key)) throw bad("holds no key (zero, or beyond the order of secp256k1)");
  return { key, isNew: false };
}

function readIfThere(path: string): string | undefined {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(MAX_FILE_BYTES);
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, null));
    } finally {
      closeSync(file);
    }
  } catch (cause) {
    if (isSystemError(cause, "ENOENT")) return undefined;
    throw new KeyFileError(`the network key cannot be read: ${messageOf(cause)}`, { cause });
  }
}

function createKey(path: string): Uint8Array {
  let key = randomBytes(32);
  while (!isPrivateKey(key)) key = randomBytes(32);
  try {
    makeFolder(dirname(path));
    writeFileSync(path, key.toString("hex"), { mode: 0o600, flag: "wx" });
  } catch (cause) {
    throw new KeyFileError(`a new network key cannot be written: ${messageOf(cause)}`, { cause });
  }
  return new Uint8Array(key);
}
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

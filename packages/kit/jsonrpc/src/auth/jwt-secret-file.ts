import { randomBytes } from "node:crypto";
import { existsSync, linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { bytesToHex, CodedError, hexToBytes, isCodedError, isSystemError } from "@rnode/primitives";

export type JwtSecretErrorCode =
  | "jwt/bad-secret-file"
  /** a new secret cannot be made there, as the folder does not exist: a mistyped path more likely than a new place */
  | "jwt/no-folder"
  /** the file that an option names cannot be used */
  | "jwt/bad-option";

function parseSecret(path: string, text: string): Uint8Array {
  const digits = text.trim().replace(/^0x/i, "");
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) {
    const reason = `invalid jwt secret in path ${path}, not 32 hex-formatted bytes`;
    throw new CodedError<JwtSecretErrorCode>("jwt/bad-secret-file", { reason }, { sentence: "{reason}" });
  }
  return hexToBytes(digits);
}

/** Reads the 32-byte secret from a file of 64 hex digits, `0x` optional. @throws {CodedError} jwt/bad-secret-file; the file system's errors */
export const readJwtSecret = (path: string): Uint8Array => parseSecret(path, readFileSync(path, "utf8"));

/** @throws {CodedError} jwt/no-folder: a new secret cannot be made at this path */
export function assertSecretFolder(path: string): void {
  const folder = dirname(path);
  if (existsSync(folder)) return;
  const reason = `there is no ${path}, and no folder ${folder} to make a new secret in: correct the path, or make the folder`;
  throw new CodedError<JwtSecretErrorCode>("jwt/no-folder", { reason }, { sentence: "{reason}" });
}

/**
 * Reads the 32-byte secret from a file of 64 hex digits, `0x` optional. A missing file is created with a random secret, readable by
 * its owner only; two programs that start at the same moment end up with the same secret.
 *
 * @throws {CodedError} jwt/bad-secret-file, jwt/no-folder; the file system's errors
 */
export function readOrCreateJwtSecret(path: string): { readonly secret: Uint8Array; readonly isNew: boolean } {
  try {
    return { secret: readJwtSecret(path), isNew: false };
  } catch (error) {
    if (!isSystemError(error, "ENOENT")) throw error;
  }
  assertSecretFolder(path);
  const secret = randomBytes(32);
  // The file is first written completely under another name, so a kill never leaves a partial secret. The link then decides which
  // process was first.
  const draft = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(draft, bytesToHex(secret), { mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    if (!isSystemError(error, "EEXIST")) throw error;
    return { secret: readJwtSecret(path), isNew: false };
  } finally {
    rmSync(draft, { force: true });
  }
  return { secret: new Uint8Array(secret), isNew: true };
}

/** The option that names the file of a secret, for errors. */
export interface SecretOption {
  /** with its dashes */
  readonly option: string;
  /** an alternative to the file: a clause in the imperative */
  readonly remedy?: string;
}

/** Names the option in the errors of `read`. @throws {CodedError} jwt/bad-option, in one line */
export function namingSecretOption<T>({ option, remedy }: SecretOption, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    if (!(isCodedError(cause, "jwt/") || isSystemError(cause))) throw cause;
    const reason = [option, cause.message, ...(remedy === undefined ? [] : [remedy])].join(": ");
    throw new CodedError<JwtSecretErrorCode>("jwt/bad-option", { reason }, { sentence: "{reason}", cause });
  }
}

/** The secret in the file that an option names. @throws {CodedError} jwt/bad-option */
export const readSecretOf = (option: SecretOption, path: string): Uint8Array =>
  namingSecretOption(option, () => readJwtSecret(path));
